package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// anotherGateway is a Gateway of the namespace default at a port that another one has too, with a route for a hostname to the
// Service "pods".
const anotherGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: other, namespace: default}
spec:
  gatewayClassName: limpet
  listeners: [{name: http, protocol: HTTP, port: %d, hostname: other.example}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other, namespace: default}
spec:
  parentRefs: [{name: other}]
  rules:
  - matches: [{path: {type: PathPrefix, value: /other}}]
    backendRefs: [{name: pods, port: 80}]
    sessionPersistence: {sessionName: other}
`

// TestRunGatewaysShareAPort: limpet run has one Envoy for all Gateways. Two of them on one port both keep their sessions, and one of
// them comes and goes without a word to clients of the other.
func TestRunGatewaysShareAPort(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
	documents.Port = harness.FreePort(t)
	w := harness.RunWatching(t, documents, harness.NewRing("k"))
	of := func(host, path string) func() (harness.Response, error) {
		client := w.Client()
		client.Host = host
		return harness.Getter(client, path, quietly)
	}
	clients := harness.NewClients(t, 12, func(int) func() (harness.Response, error) { return of("shop.example", "/cart") })
	clients.Every = 5 * time.Millisecond
	tally := clients.During(func() {
		w.Set(t, func(d *harness.Documents) { d.More = fmt.Sprintf(anotherGateway, d.Port) })
		others := harness.NewClients(t, 6, func(int) func() (harness.Response, error) { return of("other.example", "/other") })
		others.Every = 5 * time.Millisecond
		theirs := others.During(func() {
			w.Set(t, func(d *harness.Documents) { d.Services[0].Backends = pods[:2] })
			w.Set(t, func(d *harness.Documents) { d.Services[0].Backends = pods })
		})
		if theirs.Failed() > 0 {
			t.Errorf("of the other Gateway: %v", theirs)
		}
		w.Set(t, func(d *harness.Documents) { d.More = "" })
	})
	if tally.Failed() > 0 {
		t.Errorf("%v", tally)
	}
	if listeners := w.Envoy(t).Admin(t, "/listeners"); strings.Count(listeners, fmt.Sprintf(":%d\n", w.Port)) != 1 {
		t.Errorf("the Gateways do not share a listener:\n%s", listeners)
	}
}

// TestRunStdin: what comes from the standard input is read once, which a line says, and files are followed besides.
func TestRunStdin(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b")
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
	documents.Port = harness.FreePort(t)
	route := func(path string) string {
		return strings.NewReplacer("/other", path, "name: other}]", "name: edge}]").Replace(anotherGateway[strings.Index(anotherGateway, "---"):])
	}
	w := harness.RunStdin(t, documents, map[string]string{"route.yaml": route("/one")})
	w.AwaitLine(t, `limpet: read once, so that changes there reach no Envoy: -`)
	stay(t, w.Client(), "/cart", 5)
	visit(t, w.Client(), "/one")
	w.WriteFile(t, "route.yaml", route("/two"))
	w.AwaitLine(t, `limpet: change 1 live in \d+ ms: .*`)
	visit(t, w.Client(), "/two")
	stay(t, w.Client(), "/cart", 5)
}

// TestListenerComesWhenPortIsFree: limpet run leaves a listener out whose port is another's, and says so; it comes when the port is free,
// with no change of the input. The rest serves meanwhile.
func TestListenerComesWhenPortIsFree(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	documents := harness.OneRoute(harness.Backends(t, "a", "b"), harness.CookieRule("cart", "pods"))
	documents.Port = harness.FreePort(t)
	text := strings.Replace(documents.YAML(t), "  - {name: http, protocol: HTTP, port:", fmt.Sprintf(
		"  - {name: taken, protocol: HTTP, port: %d}\n  - {name: http, protocol: HTTP, port:", port), 1)
	w := harness.RunFolder(t, map[string]string{"documents.yaml": text}, documents.Port, harness.FreePort(t), harness.NewRing("k"))
	if !strings.Contains(w.Output(), fmt.Sprintf("127.0.0.1:%d is in use by another process", port)) {
		t.Errorf("limpet does not say what it leaves out:\n%s", w.Output())
	}
	clients := harness.NewClients(t, 6, func(int) func() (harness.Response, error) { return harness.Getter(w.Client(), "/cart", quietly) })
	clients.Every = 5 * time.Millisecond
	tally := clients.During(func() {
		_ = taken.Close()
		w.AwaitLine(t, fmt.Sprintf(`limpet: change 1 live in \d+ ms: new listener 127.0.0.1:%d.*`, port))
		visit(t, harness.NewClient(port), "/cart")
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
}

// TestOnlyListenerComesWhenPortIsFree: where that is the only listener, the one that it takes the place of goes on until then.
func TestOnlyListenerComesWhenPortIsFree(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	w := harness.RunWatching(t, harness.OneRoute(harness.Backends(t, "a", "b"), harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	text := w.Documents.YAML(t)
	if line := w.SetText(t, strings.Replace(text, fmt.Sprintf("port: %d}", w.Port), fmt.Sprintf("port: %d}", port), 1)); !strings.Contains(line, "failed;") {
		t.Errorf("limpet says %q", line)
	}
	stay(t, w.Client(), "/cart", 3)
	_ = taken.Close()
	w.AwaitLine(t, fmt.Sprintf(`limpet: change 2 live in \d+ ms: .*listener 127.0.0.1:%d.*`, port))
	stay(t, harness.NewClient(port), "/cart", 3)
}

// TestServeUnixSocket: an Envoy asks limpet serve over a socket that only its owner can open, and is believed to be what its bootstrap
// says. A socket that a limpet has left behind is no obstacle to the next.
func TestServeUnixSocket(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "xds") // short, for a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "xds.sock")
	pods := harness.Backends(t, "a", "b", "c")
	s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"), "--listen", "unix:"+path)
	s.Listen = "unix:" + path
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	clients := beginSessions(t, envoy, 6)
	tally := clients.During(func() {
		s.Set(t, func(d *harness.Documents) { d.Services[0].Backends = pods[:2] })
		s.Set(t, func(d *harness.Documents) { d.Services[0].Backends = pods })
		s.Kill(t)
		s.ServeAgain(t)
		s.AwaitEnvoy(t, "e2e", func(harness.ServedEnvoy) bool { return true })
		s.Set(t, func(d *harness.Documents) {
			d.Routes[0].Rules = append(d.Routes[0].Rules, harness.PlainRule("more", "pods"))
		})
		visit(t, envoy.Stranger(), "/more")
	})
	if tally.Failed() > 0 {
		t.Errorf("%v", tally)
	}
}

// TestEnvoyStartsWhileServeIsAway: such an Envoy has no listener, and serves as soon as limpet is back.
func TestEnvoyStartsWhileServeIsAway(t *testing.T) {
	t.Parallel()
	s := harness.Serve(t, harness.OneRoute(harness.Backends(t, "a", "b"), harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	s.Terminate(t)
	envoy := s.Bootstrap(t).StartAlone(t)
	eventually(t, "Envoy runs", func() bool {
		response, err := http.Get("http://" + harness.Loopback(envoy.AdminPort) + "/listeners")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	if _, err := net.Dial("tcp", harness.Loopback(s.Port)); err == nil {
		t.Error("there is a listener before limpet is there")
	}
	s.ServeAgain(t)
	s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return e.Generation != "" })
	stay(t, envoy.Client(), "/cart", 5)
}

// TestHotRestartServed: Envoy's hot restart loses no request and no session where its configuration comes from a server.
func TestHotRestartServed(t *testing.T) {
	t.Parallel()
	s := harness.Serve(t, harness.OneRoute(harness.Backends(t, "a", "b", "c"), harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	restartHot(t, envoy, "hot restart of Envoy (limpet serve)")
}
