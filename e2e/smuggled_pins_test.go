package e2e

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// smuggler is an Envoy with a draining pod, to which nothing but a pin leads.
type smuggler struct {
	*harness.Envoy
	pods  []*harness.Backend // the last one drains
	wires []harness.Wire
}

func newSmuggler(t *testing.T) smuggler {
	t.Helper()
	pods, documents := newSmuggling(t)
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	return smuggler{envoy, pods, envoy.Wires(documents.Sites[0].Certificate, envoy.TLSPort)}
}

func newSmuggling(t *testing.T) ([]*harness.Backend, harness.Documents) {
	t.Helper()
	pods := harness.Backends(t, "a", "b", "c")
	documents := harness.OneRoute(pods[:2], harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"), harness.PlainRule("plain", "pods"))
	documents.Services[0].Draining = pods[2:]
	documents.Sites = []harness.Site{{Certificate: harness.NewCertificate(t)}}
	return pods, documents
}

// smuggledPins are spellings of the pin header that a proxy, Envoy or limpet might read differently from one another.
func smuggledPins(value string) map[string]harness.Fields {
	one := func(name string) harness.Fields { return harness.Fields{{name, value}} }
	return map[string]harness.Fields{
		"plain":                    one("x-limpet-pin"),
		"upper case":               one("X-LIMPET-PIN"),
		"mixed case":               one("x-Limpet-Pin"),
		"twice":                    {{"x-limpet-pin", value}, {"x-limpet-pin", value}},
		"twice, the first empty":   {{"x-limpet-pin", ""}, {"X-Limpet-Pin", value}},
		"twice, the second empty":  {{"x-limpet-pin", value}, {"x-limpet-pin", ""}},
		"forty times":              repeated(40, "x-limpet-pin", value),
		"joined by commas":         {{"x-limpet-pin", value + "," + value}},
		"behind a comma":           {{"x-limpet-pin", "," + value}},
		"behind spaces":            {{"x-limpet-pin", "   " + value}},
		"before spaces":            {{"x-limpet-pin", value + " \t "}},
		"space in the name":        one("x-limpet-pin "),
		"tab in the name":          one("x-limpet-pin\t"),
		"space before the name":    {{"x-other", "a"}, {" x-limpet-pin", value}},
		"folded":                   {{"x-other", "a\r\n x-limpet-pin: " + value}},
		"a second line in a value": {{"x-other", "a\r\nx-limpet-pin: " + value}},
		"bare LF in a value":       {{"x-other", "a\nx-limpet-pin: " + value}},
		"bare CR in a value":       {{"x-other", "a\rx-limpet-pin: " + value}},
		"NUL in the name":          one("x-limpet-pin\x00"),
		"underscores":              one("x_limpet_pin"),
		"like a pseudo-header":     one(":x-limpet-pin"),
		"a colon at the end":       one("x-limpet-pin:"),
		"named by Connection":      {{"connection", "x-limpet-pin"}, {"x-limpet-pin", value}},
		"Connection, twice":        {{"connection", "close, x-limpet-pin"}, {"x-limpet-pin", value}, {"x-limpet-pin", value}},
		"named by TE":              {{"te", "trailers, x-limpet-pin"}, {"x-limpet-pin", value}},
		"announced as a trailer":   {{"trailer", "x-limpet-pin"}, {"x-limpet-pin", value}},
		"with the answer's cookie": {{"cookie", "x-limpet-pin=" + value}, {"x-limpet-pin", value}},
		"as an Envoy header":       {{"x-envoy-original-x-limpet-pin", value}, {"x-envoy-x-limpet-pin", value}},
		"the address in the clear": {{"x-limpet-pin", "127.0.0.1"}},
	}
}

// TestSmuggledPins: however a client writes the pin header, over every protocol, with and without a session, no request
// goes where it points and no backend sees it.
func TestSmuggledPins(t *testing.T) {
	t.Parallel()
	s := newSmuggler(t)
	row := harness.Result{}
	sessions := map[string]harness.Fields{
		"/cart":   {{"cookie", "cart=" + mint(t, s.Envoy, "cart", s.pods[0].Address, harness.Dates{})}},
		"/x-cart": {{"x-cart", mint(t, s.Envoy, "x-cart", s.pods[0].Address, harness.Dates{})}},
		"/plain":  nil,
	}
	var group sync.WaitGroup
	for name, fields := range smuggledPins(pinTo(s.pods[2])) {
		row.Faults++
		for _, wire := range s.wires {
			row.Requests += 2 * len(sessions)
			group.Go(func() { // together, for Envoy takes a second to close a connection of HTTP/2
				for path, session := range sessions {
					s.try(t, wire, name, path, fields, false)
					s.try(t, wire, name, path, slices.Concat(fields, session), len(session) > 0)
				}
			})
		}
	}
	group.Wait()
	if got := s.pods[2].Requests(); got > 0 {
		t.Errorf("%d requests went where their pin header pointed", got)
	}
	for _, pod := range s.pods {
		for _, name := range []string{pinHeader, pinHeader + " ", " " + pinHeader, ":" + pinHeader} {
			if pod.Got(name) {
				t.Errorf("backend %s got the header %q", pod.Name, name)
			}
		}
	}
	wantNoTrap(t, s.Envoy)
	s.wantPinsWork(t)
	harness.RecordResult(t, "the pin header smuggled", row)
}

// TestSmuggledPinsWithoutFilter: on an Envoy that has not got the filter no pin leads anywhere either, and no session is served.
func TestSmuggledPinsWithoutFilter(t *testing.T) {
	t.Parallel()
	pods, documents := newSmuggling(t)
	s := harness.Serve(t, documents, harness.NewRing("k"))
	s.Terminate(t)
	flags := []string{"--filter-path", "/no/such/filter"}
	if harness.Native() {
		flags = []string{"--filter", "native", "--filter-path", "/no/such/filter"}
	}
	s.ServeFrom(t, flags...)
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return len(e.Rejected) > 0 })
	var group sync.WaitGroup
	for name, fields := range smuggledPins(pinTo(pods[2])) {
		for _, wire := range envoy.Wires(documents.Sites[0].Certificate, envoy.TLSPort) {
			group.Go(func() {
				for _, path := range []string{"/cart", "/x-cart", "/plain"} {
					raw := wire.Send(t, http.MethodGet, path, fields)
					if raw.Status == http.StatusOK && path != "/plain" {
						t.Errorf("%s: %s %s: status 200 without the filter", wire.Name, path, name)
					}
					wantNoPin(t, name, raw)
				}
			})
		}
	}
	group.Wait()
	if got := pods[2].Requests(); got > 0 {
		t.Errorf("%d requests went where their pin header pointed", got)
	}
	visit(t, envoy.Stranger(), "/plain")
}

// try sends one request. Envoy may refuse it, but where it lets it through, a session stays where it is.
func (s smuggler) try(t *testing.T, wire harness.Wire, name, path string, fields harness.Fields, held bool) {
	t.Helper()
	raw := wire.Send(t, http.MethodGet, path, fields)
	if raw.Status >= http.StatusInternalServerError {
		t.Errorf("%s: %s %s: status %d", wire.Name, path, name, raw.Status)
	}
	if raw.Status == http.StatusOK && held && raw.Header.Get(harness.BackendHeader) != s.pods[0].Name {
		t.Errorf("%s: %s %s: a session on %s reached %s", wire.Name, path, name, s.pods[0].Name, raw.Header.Get(harness.BackendHeader))
	}
	wantNoPin(t, name, raw)
}

// wantPinsWork shows that a real session does reach the draining pod, so that staying away from it means something.
func (s smuggler) wantPinsWork(t *testing.T) {
	t.Helper()
	text := mint(t, s.Envoy, "cart", s.pods[2].Address, harness.Dates{})
	if got := stay(t, s.Stranger(), "/cart", 5, cookieLine("cart", text)); got != s.pods[2].Name {
		t.Errorf("a session on the draining pod went to %s", got)
	}
	text = mint(t, s.Envoy, "x-cart", s.pods[2].Address, harness.Dates{})
	if got := stay(t, s.Stranger(), "/x-cart", 5, "x-cart: "+text); got != s.pods[2].Name {
		t.Errorf("a header session on the draining pod went to %s", got)
	}
}
