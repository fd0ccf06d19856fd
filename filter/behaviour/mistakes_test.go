package behaviour

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/filter/internal/session"
	"github.com/limpet-proxy/limpet/token"
)

// mistake is one around a plugin configuration that Envoy takes without a word. Its name is that of the policy, too.
type mistake struct {
	name string
	// fields are further ones of the policy, which is for route "r".
	fields string
	// around puts the filters in their places; nil puts them in the right ones.
	around func(limpet object) []any
	routes []any
	// try sends requests; nil sends two as a client that keeps its cookie, of which no answer has one.
	try func(t *testing.T, h *handwritten, listener string)
	// line is in the log once, and counted is a counter that grows; both are empty where nobody can say a word.
	line, counted string
	// wasm says that the native filter can't have it: it needs nothing around it.
	wasm bool
}

const noPin = "a backend answered and no pin came back, so no session begins: is stateful_session enabled on the route"

// mistakes are those of the report of a user who wrote the configuration by hand.
func mistakes() []mistake {
	disabled := func(f object) object { f["disabled"] = true; return f }
	plain := routeTo("r", to("both"))
	unpinned := func(name string, around func(limpet object) []any) mistake {
		return mistake{
			name: name, around: around, routes: plain, wasm: true,
			line: fmt.Sprintf("limpet: policy %q: %s", name, noPin), counted: "limpet_sessions.policy." + name + ".outcome.unpinned",
		}
	}
	return []mistake{
		{
			name: "route-case", routes: routeTo("R", to("both")),
			line: `limpet: route "R" has no policy, so its requests have no sessions; policies are for the routes "r"`, counted: "limpet_requests_without_policy",
		},
		{
			name: "route-unnamed", routes: routeTo("", to("both")),
			line: `limpet: route "" has no policy, so its requests have no sessions; policies are for the routes "r"`, counted: "limpet_requests_without_policy",
		},
		unpinned("no-stateful", func(limpet object) []any { return []any{fence(), limpet} }),
		unpinned("stateful-first", func(limpet object) []any { return []any{fence(), pinnedBy(pinHeader), limpet} }),
		unpinned("fence-behind", func(limpet object) []any { return []any{limpet, fence(), pinnedBy(pinHeader)} }),
		unpinned("pin-differs", func(limpet object) []any { return []any{fence(), limpet, pinnedBy("x-pin")} }),
		unpinned("stateful-disabled", func(limpet object) []any { return []any{fence(), limpet, disabled(pinnedBy(pinHeader))} }),
		{
			name: "envoys-cookie", around: func(limpet object) []any { return []any{fence(), limpet, envoysCookie()} }, routes: plain, wasm: true,
			line: `limpet: policy "envoys-cookie": ` + noPin, counted: "limpet_warnings.policy.envoys-cookie.cause.no-pin",
			try: func(t *testing.T, h *handwritten, listener string) {
				want(t, "the cookie is Envoy's own", strings.HasPrefix(h.request(t, listener).cookie(), "plain="), true)
			},
		},
		{
			name: "fail-moves", fields: `"onHostLost":"Fail","failStatus":421`, routes: routeTo("r", to("broken")),
			line:    `limpet: policy "fail-moves": a session's host did not serve and another one did, though onHostLost is Fail`,
			counted: "limpet_warnings.policy.fail-moves.cause.fail-moved", try: failMoves,
		},
		{
			name: "split", line: `limpet: policy "split": a session moved, for its host is in another cluster`,
			counted: "limpet_warnings.policy.split.cause.other-cluster", try: splitMoves,
			routes: routeTo("r", object{"weighted_clusters": object{"clusters": []any{
				object{"name": "first", "weight": 50}, object{"name": "second", "weight": 50},
			}}}),
		},
		{
			name: "secure", fields: `"cookie":{"secure":true}`, routes: plain,
			line: `limpet: policy "secure": a Secure cookie was set on a request over plain HTTP`, counted: "limpet_warnings.policy.secure.cause.insecure-cookie",
			try: func(t *testing.T, h *handwritten, listener string) {
				want(t, "Secure", strings.Contains(h.request(t, listener, "host: shop.test").Get("set-cookie"), "; Secure"), true)
				want(t, "counted on the loopback", h.counter(listener, "limpet_warnings.policy.secure.cause.insecure-cookie"), 1)
				h.request(t, listener, "host: localhost:8080")
				want(t, "counted on the loopback", h.counter(listener, "limpet_warnings.policy.secure.cause.insecure-cookie"), 1)
			},
		},
		{
			name: "unix-socket", routes: routeTo("r", to("pipe")),
			line: `limpet: policy "unix-socket": the host that answered is a Unix socket`, counted: "limpet_sessions.policy.unix-socket.outcome.unpinned",
		},
		{
			name: "unfenced", around: func(limpet object) []any { return []any{limpet, pinnedBy(pinHeader)} }, routes: routeTo("other", to("both")), wasm: true,
			line:    `limpet: a request on route "other", which has no policy, came with the header "x-limpet-pin" (pinHeader): no fence is in front`,
			counted: "limpet_requests_unfenced", try: steer,
		},
		{name: "unfenced-policy", around: func(limpet object) []any { return []any{limpet, pinnedBy(pinHeader)} }, routes: plain, wasm: true, try: steerPolicy},
		{name: "disabled", around: func(limpet object) []any { return []any{fence(), disabled(limpet), pinnedBy(pinHeader)} }, routes: plain, try: unseen},
		{
			name: "key-of-another", around: func(limpet object) []any { return []any{fence(), disabled(limpet), pinnedBy(pinHeader)} }, try: unseen,
			routes: enabling(routeTo("r", to("both")), "envoy.filters.http.wasm"),
		},
	}
}

// enabling turns a filter on for a route, by a name.
func enabling(routes []any, name string) []any {
	routes[0].(object)["typed_per_filter_config"] = object{name: typed("config.route.v3.FilterConfig", object{"config": object{}})}
	return routes
}

// failMoves: a session that should fail with its host is served by another one.
func failMoves(t *testing.T, h *handwritten, listener string) {
	a := h.request(t, listener, "cookie: sid="+mint(t, "fail-moves", h.down))
	want(t, "status", a.status, 200)
	want(t, "the backend", a.backend(), h.up[1])
	want(t, "a new cookie", strings.HasPrefix(a.cookie(), "sid="), true)
	want(t, "moved", h.counter(listener, "limpet_sessions.policy.fail-moves.outcome.moved") >= 1, true)
}

// splitMoves: a session goes to and fro between clusters, of which none has the other's host.
func splitMoves(t *testing.T, h *handwritten, listener string) {
	cookie := h.request(t, listener).cookie()
	for range 200 {
		a := h.request(t, listener, "cookie: "+cookie)
		want(t, "status", a.status, 200)
		if a.cookie() != "" {
			cookie = a.cookie()
		}
		if h.counter(listener, "limpet_warnings.policy.split.cause.other-cluster") > 0 {
			return
		}
	}
	t.Error("no move between the clusters was counted")
}

// steer: a client who names a host gets whichever comes.
func steer(t *testing.T, h *handwritten, listener string) {
	tryToSteer(t, h, listener)
	want(t, "counted", h.counter(listener, "limpet_requests_unfenced"), 6)
}

func tryToSteer(t *testing.T, h *handwritten, listener string) (last answer) {
	t.Helper()
	var served []string
	for range 6 {
		last = h.request(t, listener, pinHeader+": "+base64.StdEncoding.EncodeToString([]byte(h.up[1])))
		want(t, "what the backend got of limpet's", last.Get("x-got"), "")
		served = append(served, last.backend())
	}
	want(t, "who names a host gets both", slices.Contains(served, h.up[0]) && slices.Contains(served, h.up[1]), true)
	return last
}

// steerPolicy: on a route with a policy the filter itself keeps the client's pin out and its own in.
func steerPolicy(t *testing.T, h *handwritten, listener string) {
	before := h.counter(listener, "limpet_requests_unfenced")
	a := tryToSteer(t, h, listener)
	want(t, "a session begins", strings.HasPrefix(a.cookie(), "sid="), true)
	want(t, "the pin that the client sees", a.Get(pinHeader), "")
	want(t, "counted", h.counter(listener, "limpet_requests_unfenced"), before)
}

// unseen: where the filter does not run, nothing counts.
func unseen(t *testing.T, h *handwritten, listener string) {
	noCookie(t, h, listener)
	_, policy, _ := strings.Cut(listener, "/")
	for name, n := range h.stats("policy." + policy) {
		want(t, name, n, 0)
	}
}

// mint makes a token for a host.
func mint(t *testing.T, scope, address string) string {
	t.Helper()
	ring, err := token.NewRing([]token.Key{{ID: "a", Secret: []byte(strings.Repeat("a", 32))}})
	noError(t, err)
	host, err := token.ParseHost(address)
	noError(t, err)
	now := int64(1_790_000_000)
	text, err := ring.Scope(scope).Append(nil, token.Session{Host: host, IssuedAt: now, LastSeen: now, Parts: token.Parts{ID: 1}}, token.Minting{Now: now})
	noError(t, err)
	return string(text)
}

// noCookie is what most mistakes come to: the client gets an answer each time, and never a cookie.
func noCookie(t *testing.T, h *handwritten, listener string) {
	for range 2 {
		a := h.request(t, listener)
		want(t, "status", a.status, 200)
		want(t, "Set-Cookie", a.Get("set-cookie"), "")
	}
}

func handConfig(m *mistake) string {
	fields := m.fields
	if fields == "" {
		fields = `"cookie":{"secure":false}`
	}
	return configs(policy(m.name, "r", fields))
}

// TestMistakes: whatever is wrong around the filter, Envoy takes it; the filter says in its log what is missing, once, and counts.
// Where all is right it says nothing, and where it does not run it can't: 'limpet plugin check' finds that.
func TestMistakes(t *testing.T) {
	h := newHandwritten(t)
	h.cluster("pipe", object{"pipe": object{"path": h.serve(t, "unix", h.unixSocket("s"))}})
	builds := map[string]func(*testing.T, string) object{"wasm": limpetWasm, "native": limpetNative}
	all := append(mistakes(), mistake{name: "right", routes: routeTo("r", to("both")), try: sticks})
	for _, m := range all {
		for build, limpet := range builds {
			filter := limpet(t, handConfig(&m))
			filters := []any{filter}
			if m.around != nil {
				filters = m.around(filter)
			} else if build == "wasm" {
				filters = []any{fence(), filter, pinnedBy(pinHeader)}
			}
			if build == "wasm" || !m.wasm {
				h.listen(t, build+"/"+m.name, filters, m.routes)
			}
		}
	}
	h.serveAll(t)
	for _, build := range []string{"wasm", "native"} {
		for _, m := range all {
			if listener := build + "/" + m.name; h.ports[listener] != 0 {
				t.Run(listener, func(t *testing.T) { m.checkMistake(t, h, listener) })
			}
		}
	}
}

func (m *mistake) checkMistake(t *testing.T, h *handwritten, listener string) {
	before, logged := h.counter(listener, m.counted), len(h.log(t))
	if try := m.try; try != nil {
		try(t, h, listener)
	} else {
		noCookie(t, h, listener)
	}
	if m.line == "" {
		want(t, "logged", strings.Count(h.log(t)[logged:], "limpet: "), 0)
		return
	}
	if n := h.counter(listener, m.counted); n == before {
		t.Errorf("%s did not grow; there are %v", m.counted, h.stats("limpet_"))
	}
	h.until(t, "the line "+strconv.Quote(m.line), func() bool { return strings.Contains(h.log(t)[logged:], m.line) })
	want(t, "lines", strings.Count(h.log(t)[logged:], m.line), 1)
}

// sticks: a session that does has only the counters of its outcomes, which are there from the start.
func sticks(t *testing.T, h *handwritten, listener string) {
	want(t, "counters from the start", len(h.stats("^"+counterPrefix(listener)+"limpet_sessions.policy.right")), int(session.Outcomes)-1)
	first := h.request(t, listener)
	for range 4 {
		want(t, "the backend", h.request(t, listener, "cookie: "+first.cookie()).backend(), first.backend())
	}
	for name, n := range h.stats("policy.right") {
		if strings.Contains(name, ".cause.") || n > 0 && !strings.HasSuffix(name, ".new") && !strings.HasSuffix(name, ".pinned") {
			t.Errorf("%s: %d", name, n)
		}
	}
}
