package session

import (
	"fmt"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// lines is a header map for benchmarks: it costs nothing but a search.
type lines struct {
	kv [][2]string
}

func (l *lines) Get(name string) (string, bool) {
	for _, kv := range l.kv {
		if kv[0] == name {
			return kv[1], true
		}
	}
	return "", false
}
func (l *lines) All() [][2]string       { return l.kv }
func (l *lines) Set(name, value string) { l.Add(name, value) }
func (l *lines) Remove(string)          {}
func (l *lines) CodeDetails() string    { return viaUpstream }
func (l *lines) Attempts() int          { return 0 }
func (l *lines) Publish(_, _ string)    {}
func (l *lines) HeadersOnly() bool      { return false }
func (l *lines) Prefetch()              {}
func (l *lines) Now() int64             { return now }
func (l *lines) Pin(string, bool)       {}
func (l *lines) Balance()               {}
func (l *lines) Within(string)          {}
func (l *lines) Lead(string)            {}
func (l *lines) Backend() string        { return "" }
func (l *lines) Cluster() string        { return "" }

func (l *lines) CountWarning(*Policy, Warning) {}

func (l *lines) Chosen() (string, bool) { return l.Get(chosenHeader) }
func (l *lines) Add(name, value string) { l.kv = append(l.kv, [2]string{name, value}) }

// chosenHeader is a header in which tests say which host the proxy chose.
const chosenHeader = "x-chosen"

const now = 1_800_000_000

func engine(b testing.TB, policies int) *Engine {
	b.Helper()
	var list []string
	for i := range policies {
		list = append(list, fmt.Sprintf(`{"name":"p%d","routes":["r%d"],"sessionName":"sid"}`, i, i))
	}
	cfg, errs := policyconfig.Parse(`{"version":"limpet.dev/v1","policies":[` + strings.Join(list, ",") + `]}`)
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	ring, err := token.NewRing([]token.Key{{ID: "a", Secret: make([]byte, 32)}})
	if err != nil {
		b.Fatal(err)
	}
	e, err := New(&cfg, Keys{ring: ring}, Proxy{
		Random:    func([]byte) {},
		AppendPin: func(dst, host []byte) []byte { return append(dst, host...) },
	})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// policyOf is the policy of the engine's first route.
func policyOf(e *Engine) *Policy {
	p, _ := e.Policy("r0", nil)
	return p
}

// exchange runs one request and its response.
func exchange(e *Engine, x *Exchange, request, response *lines) Outcome {
	p := policyOf(e)
	n := len(request.kv)
	void := x.Request(p, request, now)
	request.kv = request.kv[:n]
	n = len(response.kv)
	o := x.Response(response)
	response.kv = response.kv[:n]
	if void.Void() {
		return void
	}
	return o
}

func issued(b testing.TB, e *Engine) string {
	b.Helper()
	var x Exchange
	x.Request(policyOf(e), &lines{}, now)
	response := &lines{kv: [][2]string{{":status", "200"}, {chosenHeader, "10.0.0.1:8080"}}}
	x.Response(response)
	line, _ := response.Get("set-cookie")
	cookie, _, _ := strings.Cut(line, ";")
	return cookie
}

func benchmark(b *testing.B, e *Engine, want Outcome, cookie, chosen string) {
	b.Helper()
	request := &lines{kv: append(make([][2]string, 0, 8), [2]string{":method", "GET"}, [2]string{"cookie", cookie})}
	response := &lines{kv: append(make([][2]string, 0, 8), [2]string{":status", "200"})}
	if chosen != "" {
		response.kv = append(response.kv, [2]string{chosenHeader, chosen})
	}
	var x Exchange
	b.ReportAllocs()
	for b.Loop() {
		if got := exchange(e, &x, request, response); got != want {
			b.Fatalf("got %v, want %v", got, want)
		}
	}
}

func BenchmarkPinned(b *testing.B) {
	e := engine(b, 1)
	benchmark(b, e, Pinned, "other=1; "+issued(b, e), "")
}

func BenchmarkPinned10000Policies(b *testing.B) {
	e := engine(b, 10_000)
	benchmark(b, e, Pinned, "other=1; "+issued(b, e), "")
}

func BenchmarkNew(b *testing.B) {
	benchmark(b, engine(b, 1), NewSession, "other=1", "10.0.0.1:8080")
}

func BenchmarkForged(b *testing.B) {
	e := engine(b, 1)
	cookie := issued(b, e)
	benchmark(b, e, BadSignature, cookie[:len(cookie)-1]+"_", "")
}

// A cookie header at Envoy's limit, all of it forged tokens of the session's name, against other cookies of that size.
func BenchmarkManyForged(b *testing.B) {
	e := engine(b, 1)
	cookie := issued(b, e)
	benchmark(b, e, BadSignature, strings.Repeat(cookie[:len(cookie)-1]+"_; ", 550), "")
}

func BenchmarkManyOthers(b *testing.B) {
	e := engine(b, 1)
	cookie := strings.Replace(issued(b, e), "sid=", "x00=", 1)
	benchmark(b, e, None, strings.Repeat(cookie+"; ", 550), "")
}
