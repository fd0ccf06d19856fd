package istio

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	meshconfig "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/pilot/pkg/config/kube/crd"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/config"
	"istio.io/istio/pkg/config/mesh"
	"sigs.k8s.io/yaml"
)

const rootNamespace = "istio-system"

// gatewayLabels are those of the gateway's pods.
var gatewayLabels = map[string]string{"istio": "ingressgateway", "gateway.networking.k8s.io/gateway-name": "gate"}

// deployment is what a test applies.
type deployment struct {
	input    string // all documents, limpet's policies among them
	port     int    // of Envoy's listener
	backends []*backend
	flags    []string
	// native is the path of the native filter; empty for limpet.wasm.
	native string
	// change edits the documents that limpet wrote; nil for none.
	change func([]object) []object
}

// world is a discovery server with an Envoy.
type world struct {
	deployment
	server    *xds.FakeDiscoveryServer
	envoy     *envoy
	transport *http.Transport
}

// run compiles, serves and starts a deployment, and waits until requests are answered.
func run(t testing.TB, d deployment) *world {
	t.Helper()
	m := start(t, d)
	eventually(t, "a request is answered", func() bool {
		a, err := m.newClient().try("/plain")
		return err == nil && a.status == http.StatusOK
	})
	return m
}

// start is run without the wait.
func start(t testing.TB, d deployment) *world {
	t.Helper()
	istio, kubernetes := sorted(t, d.input, d.compile(t))
	return serve(t, d, istio, kubernetes)
}

// serve starts a deployment of Istio's documents, and Kubernetes' and Gateway API's.
func serve(t testing.TB, d deployment, istio, kubernetes string) *world {
	t.Helper()
	var at net.Addr
	server := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{
		ConfigString: istio, KubernetesObjectString: kubernetes, MeshConfig: plainMesh(),
		ListenerBuilder: func() (net.Listener, error) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				at = l.Addr()
			}
			return l, err
		},
	})
	m := &world{deployment: d, server: server, transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	t.Cleanup(m.transport.CloseIdleConnections)
	m.envoy = startEnvoy(t, at, gatewayLabels)
	return m
}

// plainMesh has no TLS among its workloads, for there is no agent here that has certificates.
func plainMesh() *meshconfig.MeshConfig {
	mc := mesh.DefaultMeshConfig()
	mc.EnableAutoMtls.Value = false
	return mc
}

// compile runs the shipped command.
func (d deployment) compile(t testing.TB) []object {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.yaml")
	if err := os.WriteFile(in, []byte(d.limpets(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	filter := []string{"--wasm-url", "file://" + shipped.wasm}
	if d.native != "" {
		filter = []string{"--filter", "native", "--filter-path", d.native}
	}
	args := slices.Concat([]string{"compile", "-t", "istio", "-f", in}, filter, d.flags)
	command := exec.Command(shipped.limpet, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil && command.ProcessState.ExitCode() != leftOut {
		t.Fatalf("limpet %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	written := documents(t, string(out))
	if d.change != nil {
		before := len(written)
		text := dump(t, written)
		if written = d.change(written); len(written) == before && dump(t, written) == text {
			t.Fatal("the change changes nothing")
		}
	}
	return written
}

// limpets are the documents of the input that limpet reads.
func (d deployment) limpets(t testing.TB) string {
	var own []object
	for _, o := range documents(t, d.input) {
		switch o["kind"] {
		case "Pod", "Namespace", "EnvoyFilter":
		default:
			own = append(own, o)
		}
	}
	return dump(t, own)
}

// documents parses YAML documents.
func documents(t testing.TB, text string) []object {
	t.Helper()
	var all []object
	for _, part := range strings.Split("\n"+text, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Fatal(err)
		}
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

func dump(t testing.TB, all []object) string {
	t.Helper()
	var parts []string
	for _, o := range all {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "\n---\n")
}

// sorted gives Istio's documents, and Kubernetes' and Gateway API's; of two with one name, limpet's.
func sorted(t testing.TB, input string, written []object) (istio, kubernetes string) {
	t.Helper()
	var ours, theirs []object
	for _, o := range append(documents(t, input), written...) {
		version, _ := o["apiVersion"].(string)
		switch {
		case strings.HasPrefix(version, "limpet.dev/"):
		case strings.Contains(version, "istio.io/"):
			ours = replaced(ours, o)
		default:
			theirs = replaced(theirs, o)
		}
	}
	return dump(t, ours), dump(t, theirs)
}

func replaced(all []object, o object) []object {
	for i, other := range all {
		if other["kind"] == o["kind"] && nameOf(other) == nameOf(o) {
			all[i] = o
			return all
		}
	}
	return append(all, o)
}

func nameOf(o object) string {
	meta, _ := o["metadata"].(object)
	space, _ := meta["namespace"].(string)
	own, _ := meta["name"].(string)
	return space + "/" + own
}

// push replaces what limpet wrote by what it writes for another deployment, in the running server.
func (m *world) push(t testing.TB, d deployment) {
	t.Helper()
	istio, _ := sorted(t, "", d.compile(t))
	m.update(t, istio)
}

// update replaces objects of Istio's in the running server.
func (m *world) update(t testing.TB, text string) {
	t.Helper()
	for _, c := range configs(t, text) {
		before := m.server.Store().Get(c.GroupVersionKind, c.Name, c.Namespace)
		if before == nil {
			t.Fatalf("%s %s is new", c.GroupVersionKind.Kind, c.Name)
		}
		c.ResourceVersion, c.CreationTimestamp = before.ResourceVersion, before.CreationTimestamp
		if _, err := m.server.Store().Update(c); err != nil {
			t.Fatal(err)
		}
	}
}

// configs parses objects as Istio does, one at a time, for it stops at the first that is wrong.
func configs(t testing.TB, text string) []config.Config {
	t.Helper()
	var parsed []config.Config
	for _, o := range documents(t, text) {
		one, unknown, err := crd.ParseInputs(dump(t, []object{o}))
		if err != nil || len(unknown) > 0 || len(one) != 1 {
			t.Fatalf("%v %s: %v, %v", o["kind"], nameOf(o), unknown, err)
		}
		parsed = append(parsed, one...)
	}
	return parsed
}
