package session

import (
	"strconv"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Warning is a sign that what is around the filter keeps a policy from doing what it says.
type Warning uint8

// The warnings of a policy.
const (
	// NoPin: a backend answered, and the proxy did not say which host that was.
	NoPin Warning = iota
	// UnixSocket: the host that answered is a Unix socket, which no token can name.
	UnixSocket
	// FailMoved: the policy wants a session's own host or none, and another one served.
	FailMoved
	// OtherCluster: a session moved whose host is in another cluster.
	OtherCluster
	// InsecureCookie: a Secure cookie was set on a client that came over plain HTTP.
	InsecureCookie
	// Warnings is how many there are.
	Warnings
)

var warningNames = [Warnings]string{"no-pin", "unix-socket", "fail-moved", "other-cluster", "insecure-cookie"}

// String is the warning's name in counters.
func (w Warning) String() string { return warningNames[w] }

// warningTexts are what the log says. NoPin's goes on with the pin header's name.
var warningTexts = [Warnings]string{
	NoPin: "a backend answered and no pin came back, so no session begins: is stateful_session enabled on the route, " +
		"behind this filter and without another between the two that removes the header, with the session state " +
		"envoy.http.stateful_session.header and the name ",
	UnixSocket: "the host that answered is a Unix socket, and a token holds an IP address and a port: no session begins " +
		"there",
	FailMoved: "a session's host did not serve and another one did, though onHostLost is Fail: set strict: true in the " +
		"route's StatefulSessionPerRoute (limpet.wasm) and leave connection failures, refused streams and resets out of " +
		"its retry_policy",
	OtherCluster: "a session moved, for its host is in another cluster than the one that Envoy chose for the request: " +
		"make the clusters of the route's split localities of one cluster, or give each a policy of its own (clusters)",
	InsecureCookie: "a Secure cookie was set on a request over plain HTTP, and clients do not send it back: serve " +
		"HTTPS, have the proxy in front say x-forwarded-proto: https, or set cookie.secure: false",
}

// How often lines are logged: each an hour after the last of its kind, and all of an engine's up to a number an hour.
const (
	quiet     = 3600
	mostLines = 64
)

// warnings are what an engine remembers for its lines.
type warnings struct {
	lines int
	until uint32 // when lines begins again
	// passed are routes without a policy that requests came on, and moves is where sessions moved to; the oldest go first.
	passed  [16]passedRoute
	oldest  int
	steered uint32 // when that may be logged again
	moves   [64]servedHost
	next    int
}

// may tells whether a line may be logged now, and then not again for some time.
func (w *warnings) may(again *uint32, now int64) bool {
	at := uint32(now)
	if at < *again {
		return false
	}
	*again = at + quiet
	if at >= w.until {
		w.lines, w.until = 0, at+quiet
	}
	w.lines++
	return w.lines <= mostLines
}

// warn counts a warning, and logs it if it was not lately.
func (x *Exchange) warn(h Reply, w Warning) {
	p := x.policy
	if p.engine.warnings.may(&p.warned[w], x.now) {
		line := "limpet: policy " + strconv.Quote(p.Name) + ": " + warningTexts[w]
		if w == NoPin {
			line += strconv.Quote(p.engine.pinHeader) + " (pinHeader)?"
		}
		p.engine.proxy.log(LogWarn, line)
	}
	h.CountWarning(p, w)
}

// unpinned ends a request for whose answer no token can be made.
func (x *Exchange) unpinned(h Reply, why Warning) Outcome {
	x.warn(h, why)
	if x.outcome != None {
		return x.outcome
	}
	return Unpinned
}

// insecure tells whether a client drops a Secure cookie that it gets: over plain HTTP all do, but from the loopback.
func insecure(h Headers) bool {
	if proto, _ := h.Get("x-forwarded-proto"); proto != "http" {
		return false
	}
	host, _ := h.Get(":authority")
	if end := strings.LastIndexByte(host, ':'); end >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:end]
	}
	return host != "localhost" && host != "127.0.0.1" && host != "[::1]" && !strings.HasSuffix(host, ".localhost")
}

// servedHost is a host that a session moved to, and a hash of the cluster that it is in.
type servedHost struct {
	host    token.Host
	cluster uint32
}

// explainMove warns of a move that the policy does not want, or that the host's failure does not explain.
func (x *Exchange) explainMove(h Reply, to token.Host) {
	if x.policy.strict {
		x.warn(h, FailMoved)
	}
	w := &x.policy.engine.warnings
	cluster := hashText(h.Cluster())
	for i := range w.moves {
		if p := &w.moves[i]; p.host == x.session.Host && p.cluster != cluster {
			x.warn(h, OtherCluster)
			break
		}
	}
	w.moves[w.next] = servedHost{to, cluster}
	w.next = (w.next + 1) % len(w.moves)
}

// hashText is FNV-1a.
func hashText(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// passedRoute is a route without a policy: a hash of its name, how many requests came, and when it may be logged again.
type passedRoute struct {
	hash, times, again uint32
}

// rarely is how many requests on such a route share a look at the clock.
const rarely = 256

// PassHost is a request on a route without a policy.
type PassHost interface {
	Request
	Destination
	// Now is the time in seconds since the Unix epoch.
	Now() int64
	// Steered tells whether the client itself named a host that the proxy would have taken, and keeps the proxy from it.
	Steered() bool
	// CountSteered counts such a request, and CountPassed one on a route that the plugin configuration does not mention.
	CountSteered()
	CountPassed()
}

// Pass is for a request on a route without a policy. Its client does not choose the host either, and a ticket goes no
// further.
func (e *Engine) Pass(route string, h PassHost) {
	if e.tickets {
		h.Remove(policyconfig.TicketHeader)
	}
	if h.Steered() {
		h.CountSteered()
		if e.warnings.may(&e.warnings.steered, h.Now()) {
			e.proxy.log(
				LogWarn,
				"limpet: a request on route "+strconv.Quote(route)+", which has no policy, came with the header "+
					strconv.Quote(e.pinHeader)+" (pinHeader): no fence is in front of this filter, so clients choose their hosts "+
					"wherever it does not run; have header_mutation remove that header from requests and responses, as the first "+
					"filter and on every route",
			)
		}
	}
	if len(e.routes) == 0 {
		return // where policies come with their routes, those without are meant so
	}
	h.CountPassed()
	p := e.warnings.findRoute(hashText(route))
	if p.times++; p.times%rarely == 1 && h.Cluster() != "" && e.warnings.may(&p.again, h.Now()) {
		e.proxy.log(
			LogInfo,
			"limpet: route "+strconv.Quote(route)+" has no policy, so its requests have no sessions; policies are for the "+
				"routes "+e.listRoutes(),
		)
	}
}

// findRoute returns a route's entry, which takes the place of the oldest if there is none.
func (w *warnings) findRoute(hash uint32) *passedRoute {
	for i := range w.passed {
		if p := &w.passed[i]; p.hash == hash && p.times > 0 {
			return p
		}
	}
	p := &w.passed[w.oldest]
	w.oldest = (w.oldest + 1) % len(w.passed)
	*p = passedRoute{hash: hash}
	return p
}

// listRoutes names the first few routes of the configuration's policies.
func (e *Engine) listRoutes() string {
	names := make([]string, 0, len(e.listed)+1)
	for _, name := range e.listed {
		names = append(names, strconv.Quote(name))
	}
	if more := len(e.routes) - len(e.listed); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}
