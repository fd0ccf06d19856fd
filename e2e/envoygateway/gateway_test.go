package envoygateway

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The programs, by the Makefile.
var (
	limpetProgram  = abs("../../bin/limpet")
	gatewayProgram = abs("../../bin/envoy-gateway")
	wasmFile       = abs("../../dist/limpet.wasm")
	nativeFile     = abs("../../dist/liblimpet.so")
)

func abs(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return whole
}

// envoyVersion is under what Envoy Gateway looks for Envoy; the program is that of $ENVOY.
const envoyVersion = "1.40.0"

// wasmURL is where the tests serve the module, and brokenURL the first half of it.
const (
	wasmURL   = "http://127.0.0.1:8099/limpet.wasm"
	brokenURL = "http://127.0.0.1:8099/broken.wasm"
)

// controlPlane is a running Envoy Gateway.
type controlPlane struct {
	home string
	log  string
}

// start runs Envoy Gateway on a manifest until the test ends.
func start(t *testing.T, manifest string, environment ...string) *controlPlane {
	t.Helper()
	p := &controlPlane{home: t.TempDir()}
	p.start(t, manifest, environment...)
	return p
}

// start runs Envoy Gateway on a manifest, and on what has been written into res before. Its environment is what Envoy
// has too.
func (p *controlPlane) start(t *testing.T, manifest string, environment ...string) {
	t.Helper()
	p.log = filepath.Join(p.home, "log")
	p.placeEnvoy(t)
	environment = append(os.Environ(), append(environment, "HOME="+p.home)...)
	p.run(t, environment, "certgen", "--local", "--config-home", p.path("config"))
	p.apply(t, manifest)
	p.write(t, "eg.yaml", fmt.Sprintf(configuration, p.path("res"), p.path("config"), p.path("data"), p.path("state"), p.path("run")))
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(gatewayProgram, "server", "--config-path", p.path("eg.yaml"))
	cmd.Env, cmd.Stdout, cmd.Stderr = environment, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t, cmd, log) })
}

const configuration = `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
provider:
  type: Custom
  custom:
    resource: {type: File, file: {paths: [%s]}}
    infrastructure: {type: Host, host: {configHome: %s, dataHome: %s, stateHome: %s, runtimeDir: %s}}
extensionApis: {enableBackend: true, enableEnvoyPatchPolicy: true}
`

func (p *controlPlane) path(name string) string { return filepath.Join(p.home, name) }

func (p *controlPlane) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// placeEnvoy puts our Envoy where Envoy Gateway would have downloaded one. It starts with a base id of its own, for
// another Envoy of this machine may have the default one.
func (p *controlPlane) placeEnvoy(t *testing.T) {
	t.Helper()
	envoy := os.Getenv("ENVOY")
	if envoy == "" {
		t.Fatal("ENVOY must name the Envoy to run ('make e2e-envoy-gateway' does)")
	}
	name := filepath.Join("data", "envoy-versions", envoyVersion, "bin", "envoy")
	p.write(t, name, "#!/bin/sh\nexec "+envoy+" --use-dynamic-base-id \"$@\"\n")
	if err := os.Chmod(p.path(name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs Envoy Gateway's program to its end.
func (p *controlPlane) run(t *testing.T, environment []string, args ...string) {
	t.Helper()
	cmd := exec.Command(gatewayProgram, args...)
	cmd.Env = environment
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("envoy-gateway %v: %v\n%s", args, err, out)
	}
}

// apply gives Envoy Gateway a manifest, and what else its own certificates need. The provider merges it with the one
// before: what is only left out stays.
func (p *controlPlane) apply(t *testing.T, manifest string) {
	t.Helper()
	p.write(t, "next.yaml", p.certificates(t)+manifest)
	if err := os.MkdirAll(p.path("res"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.path("next.yaml"), p.path("res/all.yaml")); err != nil {
		t.Fatal(err)
	}
}

// certificates are the Secret with which Envoy fetches the module from Envoy Gateway, and a patch of the cluster for it:
// in a cluster that is a Service, and its certificate authority is in the pod.
func (p *controlPlane) certificates(t *testing.T) string {
	t.Helper()
	data := map[string]any{}
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		content, err := os.ReadFile(p.path("config/certs/envoy/" + name))
		if err != nil {
			t.Fatal(err)
		}
		data[name] = base64.StdEncoding.EncodeToString(content)
	}
	cluster := func(path, value string) any {
		return object{
			"type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "wasm_cluster",
			"operation": object{"op": "replace", "path": path, "value": value},
		}
	}
	return yamlOf(t, object{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data,
		"metadata": object{"name": "envoy", "namespace": "envoy-gateway-system"},
	}, patchPolicy("local",
		cluster("/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address/socket_address/address", "127.0.0.1"),
		cluster("/transport_socket/typed_config/common_tls_context/validation_context/trusted_ca/filename", p.path("config/certs/envoy/ca.crt")),
	))
}

// stop ends Envoy Gateway, which ends its Envoy.
func (p *controlPlane) stop(t *testing.T, cmd *exec.Cmd, log *os.File) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		t.Error("Envoy Gateway did not end within 20 s of SIGTERM")
	}
	_ = log.Close()
	if t.Failed() {
		t.Logf("the end of Envoy Gateway's log:\n%s", p.lines(60))
	}
}

// lines are the last lines of the log that are not of the access log.
func (p *controlPlane) lines(most int) string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, `{":authority"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[max(0, len(kept)-most):], "")
}

// serves waits until a URL is answered with 200.
func (p *controlPlane) serves(t *testing.T, url string) {
	t.Helper()
	eventually(t, url+" is served", func() bool {
		a, err := try(url)
		return err == nil && a.status == http.StatusOK
	})
}

// serveModule serves the shipped limpet.wasm at wasmURL, and half of it at brokenURL.
func serveModule(t *testing.T) {
	t.Helper()
	module, err := os.ReadFile(wasmFile)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:8099")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content := module
		if strings.HasSuffix(brokenURL, r.URL.Path) {
			content = module[:len(module)/2]
		}
		http.ServeContent(w, r, "limpet.wasm", time.Time{}, bytes.NewReader(content))
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

// limpet runs the shipped command and gives what it prints.
func limpet(t *testing.T, input string, environment []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(limpetProgram, args...)
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &stderr
	cmd.Env = append(os.Environ(), environment...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("limpet %v: %v\n%s", args, err, stderr.Bytes())
	}
	return out.String()
}
