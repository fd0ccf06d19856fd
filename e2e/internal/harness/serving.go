package harness

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/token"
)

// EdgeGateway is the key of the Gateway in Documents.
const EdgeGateway = "default/edge"

// Serving is a "limpet serve" whose documents and keys a test changes; it says what Watching says.
type Serving struct {
	*Watching
	// Listen is its address for Envoys.
	Listen string
	// root is what it seals the ring under.
	root token.Root
	// args are those without the filter's.
	args []string
}

// ServedEnvoy is what limpet serve says of an Envoy.
type ServedEnvoy struct {
	Gateway, Node, Address, Generation, Target, Stage, Late, Routes string
	Rejected                                                        []struct{ Type, Name, Message string }
}

// Serve starts "limpet serve" on documents with the ring in a key file, and waits until it serves.
func Serve(t testing.TB, documents Documents, ring Ring, flags ...string) *Serving {
	t.Helper()
	s := &Serving{Watching: &Watching{Documents: documents, folder: t.TempDir(), served: true}}
	if s.Documents.Port == 0 {
		s.Documents.Port = FreePort(t)
	}
	if s.Documents.TLSPort == 0 && len(s.Documents.Sites) > 0 {
		s.Documents.TLSPort = FreePort(t)
	}
	s.replace(t, "input/documents.yaml", s.Documents.YAML(t))
	s.start(t, ring, append([]string{"-f", filepath.Join(s.folder, "input")}, flags...))
	return s
}

// ServeCluster is Serve for the objects of an API server, whose Gateway has that port. An empty ring is none: flags say
// where keys come from.
func ServeCluster(t testing.TB, kubeconfig string, port int, ring Ring, flags ...string) *Serving {
	t.Helper()
	s := &Serving{Watching: &Watching{Documents: Documents{Port: port}, folder: t.TempDir(), served: true}}
	s.start(t, ring, append([]string{"--kubeconfig", kubeconfig}, flags...))
	return s
}

// start starts limpet with the ring in a key file.
func (s *Serving) start(t testing.TB, ring Ring, flags []string) {
	t.Helper()
	s.root = NewRoot()
	s.replace(t, "root.txt", s.root.Text())
	s.Listen = Loopback(FreePort(t))
	admin := FreePort(t)
	args := []string{
		"serve", "--root", filepath.Join(s.folder, "root.txt"), "--bind", "127.0.0.1",
		"--listen", s.Listen, "--admin", Loopback(admin),
	}
	if len(ring.keys) > 0 {
		s.replace(t, "keys.json", ring.JSON(t))
		args = append(args, "--keys", filepath.Join(s.folder, "keys.json"))
	}
	s.args = append(args, flags...)
	s.launch(t, s.Documents.Port, admin, servedFilter(t, Native()))
}

// ServeAgain starts it once more, where it was; the one before has been ended.
func (s *Serving) ServeAgain(t testing.TB) { s.ServeFilter(t, Native()) }

// ServeFilter is ServeAgain with one of the filters.
func (s *Serving) ServeFilter(t testing.TB, native bool) {
	t.Helper()
	s.ServeFrom(t, servedFilter(t, native)...)
}

// ServeFrom is ServeAgain with flags that say where the filter is.
func (s *Serving) ServeFrom(t testing.TB, filter ...string) {
	t.Helper()
	s.changes = 0
	s.launch(t, s.Port, s.AdminPort, filter)
}

func (s *Serving) launch(t testing.TB, port, admin int, filter []string) {
	t.Helper()
	args := slices.Clone(s.args)
	if !slices.Contains(args, "--wasm-listen") {
		args = append(args, filter...)
	}
	s.Running = launchLimpet(t, args, port, admin, nil, nil)
	s.await(t, `.*changes of the input reach Envoys.*`)
}

// Another starts one more limpet serve like it, at addresses of its own.
func (s *Serving) Another(t testing.TB) *Serving {
	t.Helper()
	admin := FreePort(t)
	other := &Serving{
		Watching: &Watching{Documents: s.Documents, folder: s.folder, served: true},
		root:     s.root,
		Listen:   Loopback(FreePort(t)),
	}
	other.args = slices.Clone(s.args)
	for flag, value := range map[string]string{"--listen": other.Listen, "--admin": Loopback(admin)} {
		other.args[slices.Index(other.args, flag)+1] = value
	}
	other.launch(t, s.Port, admin, servedFilter(t, Native()))
	return other
}

// Kill ends limpet by SIGKILL, and waits until it is gone.
func (s *Serving) Kill(t testing.TB) {
	t.Helper()
	if err := s.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.done
}

// Bootstrap makes what an Envoy of the Gateway starts from, ready to start.
func (s *Serving) Bootstrap(t testing.TB, flags ...string) *Compiled {
	t.Helper()
	return s.BootstrapOf(t, EdgeGateway, s.Port, "", flags...)
}

// BootstrapOf is Bootstrap for a Gateway with a port, and a text of root secrets; empty for the root of all Gateways.
func (s *Serving) BootstrapOf(t testing.TB, gateway string, port int, roots string, flags ...string) *Compiled {
	t.Helper()
	c := &Compiled{
		Dir: t.TempDir(), Port: port, AdminPort: FreePort(t), TLSPort: s.Documents.TLSPort, shipped: Find(t),
		cluster: gateway,
	}
	args := []string{"bootstrap", "--gateway", gateway, "--server", s.Listen, "--admin", Loopback(c.AdminPort)}
	code, text, stderr := Limpet(t, nil, append(args, flags...)...)
	if code != 0 {
		t.Fatalf("limpet bootstrap: exit code %d\n%s", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "envoy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.deployment.Env = []string{"LIMPET_ROOT=" + cmp.Or(roots, s.root.Text())}
	return c
}

// Skewed has the Envoy's wall clock be ahead by so much, or behind.
func (c *Compiled) Skewed(t testing.TB, by time.Duration) *Compiled {
	t.Helper()
	c.deployment.Env = append(c.deployment.Env, SkewedClock(t, by)...)
	return c
}

// Status is what "limpet status" says of connected Envoys, and whether it is content: all of the input is in effect,
// each Gateway has an Envoy, and all of them have everything.
func (w *Watching) Status(t testing.TB) (envoys []ServedEnvoy, content bool) {
	t.Helper()
	status, code := w.status(t)
	return status.Envoys, code == 0
}

// servedStatus is what "limpet status" prints.
type servedStatus struct {
	Gateways []struct{ Gateway, Generation string }
	Envoys   []ServedEnvoy
}

// isAcknowledged tells whether every connected Envoy has everything.
func (s *servedStatus) isAcknowledged() bool {
	generations := map[string]string{}
	for _, g := range s.Gateways {
		generations[g.Gateway] = g.Generation
	}
	return !slices.ContainsFunc(s.Envoys, func(e ServedEnvoy) bool {
		return e.Generation != generations[e.Gateway] || e.Late != "" || len(e.Rejected) > 0
	})
}

func (w *Watching) status(t testing.TB) (status servedStatus, code int) {
	t.Helper()
	code, stdout, stderr := Limpet(t, nil, "status", "-o", "json", "--admin", Loopback(w.AdminPort))
	if err := json.Unmarshal([]byte(stdout), &status); err != nil {
		t.Fatalf("limpet status: %v\n%s%slimpet serve says:\n%s", err, stdout, stderr, w.Output())
	}
	return status, code
}

// AwaitAcknowledged waits until every connected Envoy has everything.
func (w *Watching) AwaitAcknowledged(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(changeWithin); ; time.Sleep(20 * time.Millisecond) {
		status, _ := w.status(t)
		if status.isAcknowledged() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not every Envoy has everything within %v: %+v\n%s", changeWithin, status, w.Output())
		}
	}
}

// AwaitEnvoy waits until something is said of an Envoy of that name, and gives it.
func (s *Serving) AwaitEnvoy(t testing.TB, node string, is func(ServedEnvoy) bool) ServedEnvoy {
	t.Helper()
	for deadline := time.Now().Add(changeWithin); ; time.Sleep(20 * time.Millisecond) {
		envoys, _ := s.Status(t)
		if at := slices.IndexFunc(envoys, func(e ServedEnvoy) bool { return e.Node == node && is(e) }); at >= 0 {
			return envoys[at]
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Envoy %s does not come to that within %v: %+v\n%s", node, changeWithin, envoys, s.Output())
		}
	}
}

// Metric is the sum of a metric's values, of one name or with labels too: those that are there, and 0 without any.
func (s *Serving) Metric(t testing.TB, name string) (sum float64) {
	t.Helper()
	response, err := http.Get("http://" + Loopback(s.AdminPort) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		rest, is := strings.CutPrefix(lines.Text(), name)
		at := strings.LastIndexByte(rest, ' ')
		if !is || at < 0 || at > 0 && rest[0] != '{' {
			continue
		}
		value, err := strconv.ParseFloat(rest[at+1:], 64)
		if err != nil {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		sum += value
	}
	return sum
}

// PeakMB is the most memory that limpet has had since it began, or since the last time that this was asked.
func (s *Serving) PeakMB(t testing.TB) int {
	t.Helper()
	pid := s.command.Process.Pid
	kb, err := readKB(pid, "VmHWM")
	if err != nil {
		t.Fatalf("limpet has ended: %v\n%s", err, s.Output())
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}

// Signal sends limpet a signal: SIGSTOP has it hang until SIGCONT.
func (s *Serving) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := s.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Signal sends Envoy a signal: SIGSTOP has it hang until SIGCONT.
func (e *Envoy) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := e.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}
