package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestShards asks an Envoy with a table of routes for each shard and one with a whole table the same random requests, over random
// configurations with hosts under wildcards and without, and wants the same answers: whatever the spelling of the host, from plain HTTP
// and TLS, over HTTP/1.1, as a gRPC client does and for WebSockets. Mirrors get as many copies.
func TestShards(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(harness.Size(1, time.Now().UnixNano())), 33)) //nolint:gosec // a fixed sample but for long runs
	w := newShardWorld(t)
	for range harness.Size(6, 200) {
		w.change(t, random)
		for range harness.Size(100, 500) {
			w.compare(t, w.newRequest(random))
		}
		eventually(t, "as many copies are at both mirrors", func() bool { return w.sharded.mirror.Requests() == w.whole.mirror.Requests() })
		if t.Failed() {
			t.Fatalf("with the routes\n%+v", w.routes)
		}
	}
	if mirror := w.sharded.mirror; mirror.Requests() == 0 || mirror.Got("X-Limpet-Shard") {
		t.Errorf("%d copies; they have the header of shards: %v", mirror.Requests(), mirror.Got("X-Limpet-Shard"))
	}
	if w.upgraded == 0 {
		t.Error("no request became a WebSocket")
	}
}

// TestShardsGuard: no spelling of a host goes by the authorization service that its route has.
func TestShardsGuard(t *testing.T) {
	t.Parallel()
	w := newShardWorld(t)
	w.set(t, []harness.Route{
		{Name: "guarded", Hostnames: []string{"auth.example.com"}, Rules: []harness.Rule{w.guarded("/")}},
		{Name: "open", Hostnames: []string{"*.example.com"}, Rules: []harness.Rule{harness.PlainRule("", "pods")}},
	})
	for _, host := range []string{"auth.example.com", "AUTH.example.com", "auth.EXAMPLE.COM:80", "Auth.example.com:", "auth.example.com:x"} {
		if got := w.sharded.ask(t, shardRequest{text: "GET / HTTP/1.1\r\nhost: " + host + "\r\n"}); !strings.HasPrefix(got, "401") {
			t.Errorf("%s: %s", host, got)
		}
	}
}

// shardWorld is two Envoys that have the same routes.
type shardWorld struct {
	sharded, whole side
	certificate    harness.Certificate
	routes         []harness.Route
	upgraded       int // requests that became WebSockets
}

// side is one of them.
type side struct {
	*harness.Serving
	envoy  *harness.Envoy
	mirror *harness.Backend // its own
}

func newShardWorld(t *testing.T) *shardWorld {
	t.Helper()
	harness.RequireShards(t)
	w := &shardWorld{}
	documents := harness.Documents{Services: []harness.Service{
		{Name: "pods", Backends: harness.Backends(t, "a")},
		{Name: "others", Backends: harness.Backends(t, "b")},
		{Name: "authorizer", Backends: []*harness.Backend{harness.NewHTTPAuthorizer(t).Backend}},
		{Name: "sockets", Backends: []*harness.Backend{harness.NewStreamer(t, "s", false, talker("s"))}, AppProtocol: "kubernetes.io/ws"},
	}}
	w.certificate = harness.NewCertificate(t, "a.example.com", "*.example.com", "example.com")
	for _, hostname := range []string{"", "*.example.com", "a.example.com"} {
		documents.Sites = append(documents.Sites, harness.Site{Hostname: hostname, Certificate: w.certificate})
	}
	for _, s := range []*side{&w.sharded, &w.whole} {
		mirrors, own := harness.Backends(t, "c"), documents
		own.Services = append(slices.Clip(documents.Services), harness.Service{Name: "mirror", Backends: mirrors})
		s.Serving, s.mirror = harness.Serve(t, own, harness.NewRing("k")), mirrors[0]
	}
	w.whole.Terminate(t)
	w.whole.ServeFrom(t, harness.WithoutShards(t)...)
	for s, want := range map[*side]string{&w.sharded: "sharded", &w.whole: "whole: "} {
		s.envoy = s.Bootstrap(t).Start(t)
		s.AwaitAcknowledged(t)
		if got := s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return e.Routes != "" }).Routes; !strings.HasPrefix(got, want) {
			t.Fatalf("routes are %q, want %q", got, want)
		}
	}
	return w
}

func (w *shardWorld) set(t *testing.T, routes []harness.Route) {
	t.Helper()
	w.routes = routes
	// So many that there are shards.
	more := slices.Clone(routes)
	for i := range 130 {
		more = append(more, harness.Route{
			Name: fmt.Sprintf("more-%d", i), Hostnames: []string{fmt.Sprintf("more-%d.example.net", i)},
			Rules: []harness.Rule{harness.PlainRule("", "others")},
		})
	}
	for _, s := range []side{w.sharded, w.whole} {
		s.Set(t, func(d *harness.Documents) { d.Routes = more })
		s.AwaitAcknowledged(t)
	}
}

func (w *shardWorld) guarded(path string) harness.Rule {
	return harness.Rule{Path: path, Refs: harness.To("pods"), Tries: []string{"filters: [" + asking("HTTP", "authorizer", "http: {}") + "]"}}
}

// hostLabels and hostEnds make hosts that are near each other.
var (
	hostLabels = []string{"", "*.", "a.", "b.", "sub.", "*.sub.", "a.sub.", "x.a.", "auth."}
	hostEnds   = []string{"example.com", "example.org", "com"}
	shardPaths = []string{"", "/", "/app", "/app/x", "/apple", "/other", "/moved", "/guard"}
)

func pick[T any](random *rand.Rand, all []T) T { return all[random.IntN(len(all))] }

// change gives both Envoys other routes.
func (w *shardWorld) change(t *testing.T, random *rand.Rand) {
	t.Helper()
	var routes []harness.Route
	for i := range 3 + random.IntN(12) {
		route := harness.Route{Name: fmt.Sprintf("r%d", i)}
		for range random.IntN(4) { // none is all
			route.Hostnames = append(route.Hostnames, pick(random, hostLabels)+pick(random, hostEnds[:2]))
		}
		if random.IntN(8) == 0 {
			route.Hostnames = []string{"*.com"}
		}
		slices.Sort(route.Hostnames)
		route.Hostnames = slices.Compact(route.Hostnames)
		for range 1 + random.IntN(2) {
			route.Rules = append(route.Rules, w.newRule(random, i))
		}
		routes = append(routes, route)
	}
	w.set(t, routes)
}

func (w *shardWorld) newRule(random *rand.Rand, i int) harness.Rule {
	path, to := pick(random, []string{"/", "/app", "/other"}), harness.To(pick(random, []string{"pods", "others"}))
	rule := harness.Rule{Path: path, Refs: to}
	filter := func(of string) { rule.Tries = []string{"filters: [" + of + "]"} }
	switch random.IntN(9) {
	case 0:
		return w.guarded(path)
	case 1:
		rule.Session = harness.CookieRule(fmt.Sprintf("s%d", i), "").Session
	case 2:
		filter("{type: RequestMirror, requestMirror: {backendRef: {name: mirror, port: 80}}}")
	case 3:
		rule.Refs = nil
		filter("{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /moved}, statusCode: 302}}")
	case 4:
		filter(headersFilter)
	case 5:
		filter(rewriteFilter)
	case 6:
		rule.Refs = harness.To("sockets")
	}
	return rule
}

// shardRequest is a request's first lines, and how it is sent.
type shardRequest struct {
	text string
	// sni is a server name for TLS; empty for none.
	sni string
	// calls is the host of one that is sent as gRPC's are, by HTTP/2, to a path; empty for others.
	calls, path string
}

func (r shardRequest) String() string {
	return fmt.Sprintf("%q or call of %q by %q", r.text, r.calls+r.path, r.sni)
}

// isCallable matches hosts that Go's client sends as they are.
var isCallable = regexp.MustCompile(`^[A-Za-z0-9.*-]+(:[0-9]*)?$`)

// newRequest makes one whose host is near one of a route.
func (w *shardWorld) newRequest(random *rand.Rand) shardRequest {
	host := pick(random, hostLabels) + pick(random, hostEnds)
	if of := pick(random, w.routes).Hostnames; len(of) > 0 && random.IntN(3) > 0 {
		host = pick(random, of)
	}
	if random.IntN(2) == 0 {
		host = strings.Replace(host, "*", pick(random, []string{"q", "a", "x.y", "sub", ""}), 1)
	}
	if random.IntN(3) == 0 {
		host = recase(random, host)
	}
	host += pick(random, []string{"", "", "", "", ":80", ":8443", ":", ".", ".:80", ":1:2", ":x", "x"})
	if random.IntN(20) == 0 {
		host = pick(random, []string{"", "*", "[::1]", "[::1]:80", "127.0.0.1", "a b", "example.com/x", strings.Repeat("a", 300), "@example.com"})
	}
	path := pick(random, shardPaths[1:])
	r := shardRequest{text: fmt.Sprintf("GET %s HTTP/1.1\r\nhost: %s\r\n", path, host)}
	switch random.IntN(16) {
	case 0:
		r.text = fmt.Sprintf("GET http://%s%s HTTP/1.1\r\nhost: a.example.com\r\n", host, path)
	case 1:
		r.text = fmt.Sprintf("GET %s HTTP/1.0\r\nhost: %s\r\n", path, host)
	case 2:
		r.text = fmt.Sprintf("GET %s HTTP/1.0\r\n", path)
	case 3:
		r.text += "x-limpet-shard: listener/127.0.0.1/80#00\r\n"
	case 4:
		r.text += "authorization: Bearer good\r\n"
	case 5:
		r.text += "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: eHh4eHh4eHh4eHh4eHh4eA==\r\n"
	}
	if random.IntN(3) == 0 {
		r.sni = pick(random, []string{"a.example.com", "b.example.com", "x.sub.example.com", "example.com", "example.org"})
	}
	if random.IntN(5) == 0 && isCallable.MatchString(host) {
		r.calls, r.path = host, path
	}
	return r
}

// recase writes some letters as capitals.
func recase(random *rand.Rand, host string) string {
	all := []byte(host)
	for i := range all {
		if random.IntN(2) == 0 {
			all[i] = strings.ToUpper(host[i : i+1])[0]
		}
	}
	return string(all)
}

func (w *shardWorld) compare(t *testing.T, r shardRequest) {
	t.Helper()
	one, other := w.sharded.ask(t, r), w.whole.ask(t, r)
	if strings.HasPrefix(one, "101 ") {
		w.upgraded++
	}
	if one != other {
		t.Errorf("%v: by shard\n%s\nof the whole\n%s", r, one, other)
	}
}

// ask sends a request, and describes the answer.
func (s *side) ask(t *testing.T, r shardRequest) string {
	t.Helper()
	port := s.Port
	if r.sni != "" {
		port = s.Documents.TLSPort
	}
	if r.calls != "" {
		return s.call(t, r, port)
	}
	conn, err := net.Dial("tcp", harness.Loopback(port))
	if err == nil && r.sni != "" {
		conn = tls.Client(conn, &tls.Config{ServerName: r.sni, InsecureSkipVerify: true}) //nolint:gosec // it is not about that
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, r.text+"\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "none"
	}
	return s.describe(answer)
}

// call sends it as a gRPC client does.
func (s *side) call(t *testing.T, r shardRequest, port int) string {
	t.Helper()
	scheme, protocols := "http", &http.Protocols{}
	if r.sni != "" {
		scheme = "https"
	}
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:       protocols,
		TLSClientConfig: &tls.Config{ServerName: r.sni, InsecureSkipVerify: true}, //nolint:gosec // it is not about that
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+"://"+harness.Loopback(port)+r.path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = r.calls
	request.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	answer, err := (&http.Client{Transport: transport, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}).Do(request)
	if err != nil {
		return "none"
	}
	return s.describe(answer)
}

// describe reads an answer, and leaves out what is another each time.
func (s *side) describe(answer *http.Response) string {
	defer func() { _ = answer.Body.Close() }()
	body, _ := io.ReadAll(answer.Body)
	maps.Copy(answer.Header, answer.Trailer)
	var lines []string
	for name, values := range answer.Header {
		for _, value := range values {
			switch name {
			case "Date", "X-Envoy-Upstream-Service-Time":
			case "Set-Cookie":
				name, _, _ := strings.Cut(value, "=")
				lines = append(lines, "cookie "+name)
			default:
				lines = append(lines, name+": "+value)
			}
		}
	}
	slices.Sort(lines)
	own := strings.NewReplacer(fmt.Sprint(s.Port), "PORT", fmt.Sprint(s.Documents.TLSPort), "TLSPORT")
	return fmt.Sprintf("%d %s\n%s", answer.StatusCode, own.Replace(strings.Join(lines, "\n")), own.Replace(cutSeen(string(body))))
}

// cutSeen takes out of what a backend has seen what is another each time.
func cutSeen(body string) string {
	for _, name := range []string{`"X-Request-Id":["`} {
		if before, after, is := strings.Cut(body, name); is {
			_, after, _ = strings.Cut(after, `"`)
			body = before + after
		}
	}
	return body
}
