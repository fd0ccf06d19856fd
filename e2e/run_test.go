package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/token"
)

// TestLimpetRun: one command serves, says what keeps it from serving, and leaves nothing behind.
func TestLimpetRun(t *testing.T) {
	t.Parallel()
	port, adminPort := harness.FreePort(t), harness.FreePort(t)
	path, temp := cartDocuments(t, harness.Backends(t, "a", "b", "c"), port), t.TempDir()
	running := harness.RunLimpet(t, path, port, adminPort, "TMPDIR="+temp)
	stay(t, harness.NewClient(port), "/cart", 10)
	if !strings.Contains(running.Output(), "LIMPET_KEYS is not set") {
		t.Errorf("limpet says nothing about its keys: %s", running.Output())
	}
	folders, err := os.ReadDir(temp)
	if err != nil || len(folders) != 1 {
		t.Errorf("limpet run made %v: %v", folders, err)
	}
	checkPortsInUse(t, path, port, adminPort)

	if code := running.Terminate(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM: %s", code, running.Output())
	}
	wantNoProcess(t, "TMPDIR="+temp)
	wantEmptyFolder(t, temp)
	for _, port := range []int{port, adminPort} {
		harness.Listen(t, harness.Loopback(port)).Close()
	}
}

// cartDocuments writes documents with one cookie session "cart" and the listener on that port.
func cartDocuments(t *testing.T, pods []*harness.Backend, port int) string {
	t.Helper()
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
	documents.Port = port
	return writeFile(t, "documents.yaml", documents.YAML(t))
}

// checkPortsInUse starts a second limpet run on the ports of the first, which must not be disturbed.
func checkPortsInUse(t *testing.T, path string, port, adminPort int) {
	t.Helper()
	code, _, stderr := harness.Limpet(t, nil, "run", "-f", path, "--bind", "127.0.0.1", "--admin", harness.Loopback(adminPort))
	if code != 1 {
		t.Errorf("with its ports in use limpet run ends with exit code %d: %s", code, stderr)
	}
	for _, port := range []int{port, adminPort} {
		if want := harness.Loopback(port) + " is in use by another process; stop it, or "; strings.Count(stderr, want) != 1 {
			t.Errorf("limpet run does not say %q: %s", want, stderr)
		}
	}
	stay(t, harness.NewClient(port), "/cart", 10)
}

// fleet are two proxies for the same backends, run by "limpet run", and clients with a session each that
// they use at both.
type fleet struct {
	paths   [2]string
	ports   [2][2]int // listener, admin
	running [2]*harness.Running
	jars    []*harness.Jar
	homes   []string
}

func newFleet(t *testing.T, ring string) *fleet {
	t.Helper()
	f := &fleet{}
	pods := harness.Backends(t, "a", "b", "c")
	for i := range f.paths {
		f.ports[i] = [2]int{harness.FreePort(t), harness.FreePort(t)}
		f.paths[i] = cartDocuments(t, pods, f.ports[i][0])
		f.start(t, i, ring)
	}
	for i := range 12 {
		f.jars = append(f.jars, &harness.Jar{})
		f.homes = append(f.homes, visit(t, f.client(i, i%2), "/cart").Backend)
	}
	return f
}

func (f *fleet) start(t *testing.T, proxy int, ring string) {
	t.Helper()
	f.running[proxy] = harness.RunLimpet(t, f.paths[proxy], f.ports[proxy][0], f.ports[proxy][1], "LIMPET_KEYS="+ring)
}

// restart replaces a proxy by one with another ring; the other proxy serves meanwhile.
func (f *fleet) restart(t *testing.T, proxy int, ring string) {
	t.Helper()
	if code := f.running[proxy].Terminate(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	f.wantAtHome(t, 1-proxy)
	f.start(t, proxy, ring)
	f.wantAtHome(t, proxy, 1-proxy)
}

// client is a connection of a client to a proxy; its cookies are the same at both.
func (f *fleet) client(i, proxy int) *harness.Client {
	client := harness.NewClient(f.ports[proxy][0])
	client.Jar = f.jars[i]
	return client
}

// wantAtHome has every client visit these proxies in turn, and fails if a session has moved.
func (f *fleet) wantAtHome(t *testing.T, proxies ...int) {
	t.Helper()
	for i, home := range f.homes {
		for _, proxy := range proxies {
			if got := stay(t, f.client(i, proxy), "/cart", 2); got != home {
				t.Fatalf("a session on %s is on %s at proxy %d", home, got, proxy)
			}
		}
	}
}

// wantSignedWith fails unless every client's token opens with this ring alone.
func (f *fleet) wantSignedWith(t *testing.T, ring harness.Ring) {
	t.Helper()
	scope := ring.Scope(t, harness.CartScope)
	for _, jar := range f.jars {
		if _, verdict := scope.Open(jar.Value("cart"), time.Now().Unix()); verdict != token.Valid {
			t.Errorf("a token is %v under the keys %v", verdict, ring.IDs())
		}
	}
}

// TestRotationByRestart changes the keys of two proxies as docs/operations.md says, with the commands it names: the
// proxies read their ring at start, so they are restarted one after the other. No session is lost.
func TestRotationByRestart(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	old := keygen(t, "--id", "old")
	f := newFleet(t, old)
	f.wantAtHome(t, 0, 1)

	overlap := 3*time.Since(begin) + 2*time.Second // longer than both restarts take on this machine today
	added := keygen(t, "--id", "new", "--add-to", writeFile(t, "keys.json", old), "--overlap", overlap.Round(time.Second).String())
	ring := harness.ParseRing(t, added)
	if ids := fmt.Sprint(ring.IDs()); ids != "[new old]" {
		t.Fatalf("keygen --add-to printed the keys %s", ids)
	}
	f.restart(t, 0, added)
	f.restart(t, 1, added)
	if !time.Now().Before(ring.SignsFrom()) {
		t.Fatalf("two restarts took longer than the overlap of %v", overlap)
	}
	f.wantSignedWith(t, ring.Only("old"))

	time.Sleep(time.Until(ring.SignsFrom().Add(100 * time.Millisecond)))
	f.wantAtHome(t, 0, 1)
	f.wantSignedWith(t, ring.Only("new"))
	f.restart(t, 0, ring.Only("new").JSON(t))
	f.wantSignedWith(t, ring.Only("new"))
}

// keygen is what limpet keygen prints.
func keygen(t *testing.T, flags ...string) string {
	t.Helper()
	code, stdout, stderr := harness.Limpet(t, nil, append([]string{"keygen"}, flags...)...)
	if code != 0 {
		t.Fatalf("limpet keygen: exit code %d: %s", code, stderr)
	}
	return strings.TrimSpace(stdout)
}
