package istio

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// within is how long things may take on a busy machine before they count as failed.
const within = 5 * time.Minute

// envoy is a running Envoy that takes its configuration from a discovery server.
type envoy struct {
	admin   int
	command *exec.Cmd
	done    chan struct{}
	log     string
}

// startEnvoy starts Envoy as the gateway's pod would, until the test ends.
func startEnvoy(t testing.TB, discovery net.Addr, labels map[string]string, env ...string) *envoy {
	t.Helper()
	dir := t.TempDir()
	e := &envoy{admin: freePort(t), done: make(chan struct{}), log: filepath.Join(dir, "envoy.log")}
	file := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(file, bootstrap(t, e.admin, discovery, labels), 0o600); err != nil {
		t.Fatal(err)
	}
	logs, err := os.Create(e.log)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	e.command = exec.Command(shipped.envoy, "-c", file, "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning",
		"--component-log-level", "wasm:info")
	e.command.Stdout, e.command.Stderr = logs, logs
	e.command.Env = append(os.Environ(), env...)
	e.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = e.command.Wait() // ProcessState has all that it says
		close(e.done)
	}()
	t.Cleanup(func() { e.stop(t) })
	return e
}

func (e *envoy) stop(t testing.TB) {
	_ = e.command.Process.Kill() // fails where it has ended already
	<-e.done
	if text, err := os.ReadFile(e.log); err == nil && t.Failed() {
		t.Logf("Envoy's log ends:\n%s", text[max(0, len(text)-6000):])
	}
}

// get reads a page of the admin interface.
func (e *envoy) get(t testing.TB, path string) string {
	t.Helper()
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", e.admin, path))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type object = map[string]any

// bootstrap has Envoy ask for everything over ADS.
func bootstrap(t testing.TB, admin int, discovery net.Addr, labels map[string]string) []byte {
	t.Helper()
	host, port, err := net.SplitHostPort(discovery.String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	ads := object{"ads": object{}, "resource_api_version": "V3"}
	text, err := json.Marshal(object{
		"node": object{
			"id": nodeID, "cluster": "gateway",
			"metadata": object{"NAMESPACE": rootNamespace, "ISTIO_VERSION": "1.31.0", "CLUSTER_ID": "Kubernetes", "LABELS": labels},
		},
		"admin": object{"address": makeAddress("127.0.0.1", admin)},
		"dynamic_resources": object{
			"ads_config": object{
				"api_type": "GRPC", "transport_api_version": "V3",
				"grpc_services": []any{object{"envoy_grpc": object{"cluster_name": "discovery"}}},
			},
			"cds_config": ads, "lds_config": ads,
		},
		"static_resources": object{"clusters": []any{object{
			"name": "discovery", "type": "STATIC",
			"typed_extension_protocol_options": object{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": object{
				"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
				"explicit_http_config": object{"http2_protocol_options": object{}},
			}},
			"load_assignment": object{"cluster_name": "discovery", "endpoints": []any{object{
				"lb_endpoints": []any{object{"endpoint": object{"address": makeAddress(host, number)}}},
			}}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func makeAddress(host string, port int) object {
	return object{"socket_address": object{"address": host, "port_value": port}}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// nodeID is what a gateway's pod calls itself.
var nodeID = fmt.Sprintf("router~127.0.0.1~gwpod.%s~%[1]s.svc.cluster.local", rootNamespace)
