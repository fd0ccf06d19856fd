package kubernetes

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// faultyServer stands between limpet and the API server, and does what one does that is in trouble.
type faultyServer struct {
	*httptest.Server
	// mode is what happens to requests now; nil for nothing.
	mode     atomic.Pointer[func(http.ResponseWriter, *http.Request) (answered bool)]
	answered atomic.Int64 // by mode
	proxy    *httputil.ReverseProxy
}

// pass hands a request on to the API server.
func (f *faultyServer) pass(w http.ResponseWriter, r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+standin.AdminToken) // which a client sends over TLS alone
	f.proxy.ServeHTTP(w, r)
}

// newFaultyServer makes one, and the kubeconfig that leads to it.
func newFaultyServer(t *testing.T, c *cluster) (f *faultyServer, kubeconfig string) {
	t.Helper()
	to, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1 // watches are streams
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 100}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	f = &faultyServer{proxy: proxy}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mode := f.mode.Load(); mode != nil && (*mode)(w, r) {
			f.answered.Add(1)
			return
		}
		f.pass(w, r)
	}))
	t.Cleanup(f.CloseClientConnections)
	return f, c.changeKubeconfig(t, `"`+standin.URL+`", insecure-skip-tls-verify: true`, fmt.Sprintf("%q", f.URL))
}

// during has requests answered in a way while work runs. Watches that are open are cut, so that they meet it too.
func (f *faultyServer) during(mode func(http.ResponseWriter, *http.Request) bool, work func()) {
	f.mode.Store(&mode)
	f.CloseClientConnections()
	work()
	f.mode.Store(nil)
	f.CloseClientConnections()
}

// refuse answers with a status as an API server does.
func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}

// restart kills the API server, which would wait for its watches, and starts it again on the same etcd.
func (c *cluster) restart(t *testing.T) {
	t.Helper()
	if err := c.RestartServer(); err != nil {
		t.Fatal(err)
	}
}

// compact has etcd forget all states of before.
func (c *cluster) compact(t *testing.T) {
	t.Helper()
	post := func(path, body string) string {
		response, err := http.Post(standin.EtcdURL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var text bytes.Buffer
		_, _ = text.ReadFrom(response.Body)
		if response.StatusCode != http.StatusOK {
			t.Fatalf("etcd answers %s\n%s", response.Status, text.String())
		}
		return text.String()
	}
	_, rest, _ := strings.Cut(post("/v3/kv/range", `{"key":"AA=="}`), `"revision":"`)
	revision, _, _ := strings.Cut(rest, `"`)
	post("/v3/kv/compaction", fmt.Sprintf(`{"revision":%q,"physical":true}`, revision))
}

// TestFaults: the API server is away, slow or in trouble, etcd forgets, limpet hangs or is killed, Envoy hangs. Envoy serves on, no session
// is lost, and afterwards what is served is what the objects say.
func TestFaults(t *testing.T) {
	w := newTown(t)
	defer w.leave(t)
	away := harness.Size(5*time.Second, time.Minute)
	for _, fault := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"the API server hangs (SIGSTOP)", func(t *testing.T) {
			w.signalAPIServer(t, syscall.SIGSTOP)
			time.Sleep(away)
			w.signalAPIServer(t, syscall.SIGCONT)
		}},
		{"the API server is killed (SIGKILL) and started again", func(t *testing.T) { w.c.restart(t) }},
		{"etcd is compacted while limpet hangs, and the API server is started again", func(t *testing.T) {
			w.serving.Signal(t, syscall.SIGSTOP)
			for range 10 {
				w.change(t)
			}
			w.c.compact(t)
			w.c.restart(t)
			w.serving.Signal(t, syscall.SIGCONT)
		}},
		{"limpet serve is killed (SIGKILL) at each stage of a change", func(t *testing.T) {
			// From before it is read until the last of its stages, which take 10 to 100 ms here.
			for _, after := range harness.Size([]int{0, 5, 20, 80}, []int{0, 2, 5, 10, 15, 20, 30, 50, 80, 150}) {
				w.change(t)
				time.Sleep(time.Duration(after) * time.Millisecond)
				w.serving.Kill(t)
				w.change(t)
				w.serving.ServeAgain(t)
			}
		}},
		{"Envoy hangs (SIGSTOP) while changes go on, and acknowledges late", func(t *testing.T) {
			w.envoy.Signal(t, syscall.SIGSTOP)
			for range 5 {
				w.change(t)
			}
			time.Sleep(time.Second)
			w.envoy.Signal(t, syscall.SIGCONT)
		}},
	} {
		w.suffer(t, fault.name, func() { fault.do(t) })
	}
}

// suffer has a fault happen under load.
func (w *town) suffer(t *testing.T, name string, do func()) {
	t.Helper()
	clients := w.beginSessions(t, 6)
	clients.Every = 5 * time.Millisecond
	before := w.revision
	tally := clients.During(func() {
		do()
		w.live(t)
	})
	w.serving.AwaitAcknowledged(t)
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%s: %v", name, tally)
	}
	harness.RecordResult(t, name+" (limpet serve)", harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Changes: w.revision - before, Faults: 1, Lost: tally.Moved(), Errors: tally.Failed(),
	})
}

func (w *town) signalAPIServer(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := w.c.SignalServer(signal); err != nil {
		t.Fatal(err)
	}
}

// TestAPIServerInTrouble: it answers 429 to everything, 409 to every write of a status, or everything late. Nothing is lost, and
// the statuses come when it is well again.
func TestAPIServerInTrouble(t *testing.T) {
	c := startCluster(t)
	faulty, kubeconfig := newFaultyServer(t, c)
	w := newTown(t, "--kubeconfig", kubeconfig)
	defer w.leave(t)
	slow := func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(500 * time.Millisecond)
		return false
	}
	conflict := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/status") {
			return false
		}
		refuse(w, http.StatusConflict, "Conflict")
		return true
	}
	busy := func(w http.ResponseWriter, _ *http.Request) bool {
		refuse(w, http.StatusTooManyRequests, "TooManyRequests")
		return true
	}
	for _, one := range []struct {
		name string
		mode func(http.ResponseWriter, *http.Request) bool
	}{{"the API server answers 429", busy}, {"the API server answers each write of a status with 409", conflict}, {"the API server is slow", slow}} {
		w.suffer(t, one.name, func() {
			faulty.during(one.mode, func() {
				for range 5 {
					w.change(t)
				}
				w.moveListener(t)
				time.Sleep(3 * time.Second)
			})
		})
		if n := faulty.answered.Swap(0); n > 300 {
			t.Errorf("%s: limpet asked %d times in three seconds", one.name, n)
		}
		gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
		eventually(t, one.name+": the status comes", func() bool { return condition(c.get(t, gateway), "Programmed") == "True Programmed" })
	}
}

// TestOldIsReported: while the API server lets nobody read, limpet status ends with 1 and a metric says why, until it does again.
func TestOldIsReported(t *testing.T) {
	c, port := openShop(t, "10.244.17.1")
	c.keepOnlyEdge(t)
	faulty, kubeconfig := newFaultyServer(t, c)
	s := harness.ServeCluster(t, kubeconfig, port, harness.NewRing("k"), "--system-namespace", "default")
	s.Bootstrap(t).Start(t)
	is := func(fine bool) func() bool {
		return func() bool {
			_, content := s.Status(t)
			return content == fine && (s.Metric(t, "limpet_input_errors") == 0) == fine
		}
	}
	eventually(t, "all is well", is(true))
	unreadable := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable")
		}
		return r.Method == http.MethodGet
	}
	faulty.during(unreadable, func() { eventually(t, "what is served may be old, and that is told", is(false)) })
	eventually(t, "it is followed again", is(true))
}

// TestLeader: the process that writes statuses is killed, and hangs for longer than its Lease: another one writes them, and the one that
// comes back does not disturb it.
func TestLeader(t *testing.T) {
	w := newTown(t)
	defer w.leave(t)
	standby := harness.ServeCluster(t, w.c.Kubeconfig(standin.AdminToken), w.port, harness.Ring{}, "--system-namespace", "default", "--keys", "secret/"+w.secret)
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	follows := func(what string) {
		t.Helper()
		w.moveListener(t)
		eventually(t, what, func() bool { return condition(w.c.get(t, gateway), "Programmed") == "True Programmed" })
	}
	follows("one of them writes statuses")
	first, second := w.serving, standby
	if second.Metric(t, "limpet_status_writes_total") > 0 {
		first, second = second, first
	}
	before := second.Metric(t, "limpet_status_writes_total")
	w.suffer(t, "the leader hangs (SIGSTOP) for longer than its Lease, and comes back", func() {
		first.Signal(t, syscall.SIGSTOP)
		follows("the other one writes statuses")
		first.Signal(t, syscall.SIGCONT)
		time.Sleep(2 * time.Second)
		follows("statuses are written when both are there")
	})
	if second.Metric(t, "limpet_status_writes_total") == before {
		t.Error("the other one has written none")
	}
	time.Sleep(3 * time.Second) // routes that the Gateway has since are counted in it a little later
	quiet := w.c.get(t, gateway).GetResourceVersion()
	time.Sleep(3 * time.Second)
	if now := w.c.get(t, gateway).GetResourceVersion(); now != quiet {
		t.Errorf("two processes write one status in turn: %s, %s", quiet, now)
	}
}
