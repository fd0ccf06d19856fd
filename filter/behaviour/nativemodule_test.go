package behaviour

import (
	"encoding/base64"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/internal/nativetest"
	"github.com/limpet-proxy/limpet/filter/wasmtest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// modulePlugin is the native module. It names hosts and backends where the others set headers, which is translated here.
type modulePlugin struct {
	t     *testing.T
	host  *nativetest.Host
	clock func() time.Time
}

func startModule(name string) start {
	return func(t *testing.T, config string, env map[string]string, clock func() time.Time) (wasmtest.Filter, error) {
		t.Helper()
		h := nativetest.Start(t, nativetest.Module(t, name))
		if err := h.Configure(config, env); err != nil {
			return nil, err
		}
		return &modulePlugin{t, h, clock}, nil
	}
}

func (p *modulePlugin) Counters() map[string]uint64 {
	metrics, err := p.host.Metrics()
	noError(p.t, err)
	return metrics
}

func (p *modulePlugin) Open(properties map[string]string) wasmtest.Exchange {
	return &moduleStream{plugin: p, properties: maps.Clone(properties)}
}

type moduleStream struct {
	plugin     *modulePlugin
	properties map[string]string
	s          *nativetest.Stream
}

func (s *moduleStream) SetProperty(path, value string) { s.properties[path] = value }

func (s *moduleStream) RequestHeaders(h [][2]string, _ bool) (out [][2]string, local *wasmtest.LocalReply, err error) {
	if err := s.plugin.host.SetClock(s.plugin.clock()); err != nil {
		return nil, nil, err
	}
	if err := s.plugin.host.SetPolicies(s.properties[wasmtest.PoliciesProperty]); err != nil {
		return nil, nil, err
	}
	s.s, out, err = s.plugin.host.Request(s.properties[wasmtest.RouteProperty], s.properties[wasmtest.ClusterProperty], h)
	if err != nil {
		return nil, nil, err
	}
	if s.s.Answered != 0 {
		return nil, &wasmtest.LocalReply{Status: s.s.Answered, Details: s.s.Details}, nil
	}
	// No stateful_session filter follows, so a client's pin header means nothing.
	out = without(out, pinHeader)
	if s.s.Pin != "" {
		out = append(out, [2]string{pinHeader, base64.StdEncoding.EncodeToString([]byte(s.s.Pin))})
	}
	if !s.s.Rerouted { // then no route sees what the module did to that header
		out = without(out, policyconfig.BackendHeader(pinHeader))
	}
	if s.s.Within != "" {
		out = append(out, [2]string{policyconfig.BackendHeader(pinHeader), s.s.Within})
	}
	return out, nil, nil
}

func (s *moduleStream) ResponseHeaders(h [][2]string, headersOnly bool) ([][2]string, error) {
	if err := s.plugin.host.SetClock(s.plugin.clock()); err != nil {
		return nil, err
	}
	r := nativetest.Reply{
		Headers: without(h, pinHeader), Cluster: s.properties[wasmtest.ClusterProperty], Details: s.properties[wasmtest.DetailsProperty], Upstream: s.s.Pin,
		Backend: s.properties[wasmtest.BackendProperty], HeadersOnly: headersOnly, Attempts: attempts(s.properties),
	}
	if pin, ok := first(h, pinHeader); ok {
		host, _ := base64.StdEncoding.DecodeString(pin) // no host where it fails
		r.Upstream = string(host)
	} else if r.Details == "no_healthy_upstream" {
		r.Upstream = ""
	}
	return s.s.Response(r)
}

func (s *moduleStream) FilterState() map[string]string {
	all := maps.Clone(s.s.States)
	if s.s.State != "" {
		all[policyconfig.OutcomeFilterState] = s.s.State
	}
	return all
}

func (s *moduleStream) Close() { noError(s.plugin.t, s.s.Close()) }

// FuzzNativeModule throws header input at the native module: nothing may end its process, and whatever it pins must come
// from a token it made. The host's buffers go away. It takes the corpus of FuzzShippedModule.
func FuzzNativeModule(f *testing.F) {
	for _, cookie := range hostileCookies {
		f.Add(cookie, cookie, "GET", "200", "max-age=1", "10.0.0.1:8080", "via_upstream")
		f.Add("a=b", cookie, "OPTIONS", "503", "", cookie, "no_healthy_upstream")
	}
	hosts := fuzzedHosts(f, fuzzConfig)
	f.Fuzz(func(t *testing.T, one, two, method, status, control, upstream, details string) {
		for i, route := range []string{"cookie", "strip", "header", two, "cookie", "strip", "header", two} {
			h := hosts[i/4]
			request := [][2]string{{":method", method}, {"cookie", one}, {"x-sid", two}, {"cookie", two}, {"x-sid", one}, {"origin", one}}
			s, _, err := h.Request(route, one, request)
			if err != nil {
				t.Fatal(err)
			}
			if s.Pin != "" {
				t.Errorf("pinned %q without a token", s.Pin)
			}
			response := [][2]string{{":status", status}, {"cache-control", control}, {"set-cookie", one}, {"x-sid", two}, {"x-end", one}}
			if _, err := s.Response(nativetest.Reply{Headers: response, Details: details, Upstream: upstream, HeadersOnly: len(one)%2 == 0}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestNativeMemoryStaysFlat: sessions that the cache holds and that it does not, new ones, forged ones and a flood of
// them. LIMPET_LONG=1 sends five times as many.
func TestNativeMemoryStaysFlat(t *testing.T) {
	times := 10_000_000
	if os.Getenv("LIMPET_LONG") == "1" {
		times *= 5
	}
	h := nativetest.Start(t, nativetest.Module(t, "liblimpet.so"))
	noError(t, h.Configure(config(), map[string]string{"LIMPET_KEYS": ringA}))
	cookies := make([]string, 8192)
	for i := range cookies {
		s, _, err := h.Request("r", "c", [][2]string{{":method", "GET"}})
		noError(t, err)
		out, err := s.Response(nativetest.Reply{Headers: [][2]string{{":status", "200"}}, Details: "via_upstream", Upstream: "10.0.0.1:8080"})
		noError(t, err)
		noError(t, s.Close())
		line, _ := first(out, "set-cookie")
		cookies[i], _, _ = strings.Cut(line, ";")
	}
	sent := append([]string{"", "sid=x", strings.Repeat("sid="+forged+"; ", 500)}, cookies...)
	for i, good := range cookies[:4096] {
		cookies[i] = good[:60] + strings.Repeat("A", len(good)-60)
	}
	sent = append(sent, cookies[:4096]...)
	r, err := h.Repeat(times, "r", "10.0.0.1:8080", sent)
	noError(t, err)
	if r.End > r.Warm {
		t.Errorf("%d bytes are in use at the end, after a tenth of the requests it was %d", r.End, r.Warm)
	}
	if share := float64(r.Pinned) / float64(times); share < 0.6 || share > 0.7 {
		t.Errorf("%d of %d requests were pinned, want two in three", r.Pinned, times)
	}
	metrics, err := h.Metrics()
	noError(t, err)
	t.Logf("%d requests, %d pinned; the module holds %d kB", times, r.Pinned, metrics["limpet_memory_bytes"]>>10)
}

// TestReloadsGiveMemoryBack loads configurations again and again, refused ones too, between requests: what one leaves
// behind is as much after three thousand as after three hundred, and streams of an old one go on.
func TestReloadsGiveMemoryBack(t *testing.T) {
	h := nativetest.Start(t, nativetest.Module(t, "native/poisoned/liblimpet.so"))
	env := map[string]string{"LIMPET_KEYS": ringA}
	warm := uint64(0)
	for i := range 3_000 {
		noError(t, h.Configure(configs(policy("p", "r"), policy("q", "r2", `"forward":false`)), env))
		if h.Configure(configs(policy("p", "r"), policy("q", "r")), env) == nil {
			t.Fatal("a configuration with two policies for a route was accepted")
		}
		s, _, err := h.Request("r", "c", [][2]string{{":method", "GET"}, {"cookie", "sid=" + forged}})
		noError(t, err)
		_, err = s.Response(nativetest.Reply{Headers: [][2]string{{":status", "200"}}, Details: "via_upstream", Upstream: "10.0.0.1:8080"})
		noError(t, err)
		noError(t, s.Close())
		metrics, err := h.Metrics()
		noError(t, err)
		if held := metrics["limpet_memory_bytes"]; i == 300 {
			warm = held
		} else if i > 300 && held != warm {
			t.Fatalf("load %d: the module holds %d bytes, after 300 it was %d", i, held, warm)
		}
	}
	t.Logf("the module holds %d kB", warm>>10)
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
