package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// sessionRule is a rule with a session in the cookie "s", in a route of its own for the host NAME.example.com.
type sessionRule struct {
	// match, filters and backend, what the backendRef has besides its name, are YAML; rest are further lines of the rule, and more
	// further rules.
	match, filters, backend, rest, more string
	// calls says that it is a GRPCRoute's, with backends that speak HTTP/2.
	calls bool
	// request is METHOD PATH of one that the rule takes, and headers are its headers.
	request string
	headers []string
	// cookiePath is the cookie's, uri what the backend gets where it is not the request's, and seen are headers there.
	cookiePath, uri string
	seen            map[string]string
	// back are headers of the response.
	back map[string]string
	// aside are requests with the session's token that do not go on with it.
	aside []asideRequest
}

// asideRequest is a request with a session's token, and what becomes of it.
type asideRequest struct {
	request string
	headers []string
	status  int
	token   tokenFate
}

// tokenFate is what a client hears of its token: nothing, as no backend is asked; that it is void; or nothing, as the session's own host
// answers.
type tokenFate int

const (
	tokenStays tokenFate = iota
	tokenVoid
	tokenAnswered
)

// missed is a request that the rule does not take.
func missed(request string, headers ...string) asideRequest {
	return asideRequest{request, headers, http.StatusNotFound, tokenStays}
}

// missedCall is a call that the rule does not take, which is told so in gRPC's way.
func missedCall(request string, headers ...string) asideRequest {
	return asideRequest{request, headers, http.StatusOK, tokenStays}
}

// sessionRules has a rule for every kind of match, filter and limit of HTTPRoutes and GRPCRoutes, besides ExternalAuth.
var sessionRules = map[string]sessionRule{
	"exact-path": {
		match: "path: {type: Exact, value: /a/b}", request: "GET /a/b?c", cookiePath: "/a/b",
		aside: []asideRequest{missed("GET /a/b/"), missed("GET /a/b/c"), missed("GET /a")},
	},
	"prefix": {
		match: "path: {value: /a/}", request: "GET /a/b", cookiePath: "/a", aside: []asideRequest{missed("GET /ab"), missed("GET /")},
	},
	"regex-path": {
		match: `path: {type: RegularExpression, value: "/shop/[a-z]+/items"}`, request: "GET /shop/books/items", cookiePath: "/shop",
		aside: []asideRequest{missed("GET /shop/1/items"), missed("GET /shop/books/items/more"), missed("GET /a/shop/books/items")},
	},
	"header": {
		match: "headers: [{name: X-Tenant, value: one}]", request: "GET /a", headers: []string{"X-Tenant: one"}, cookiePath: "/",
		aside: []asideRequest{missed("GET /a"), missed("GET /a", "X-Tenant: two")},
	},
	"regex-header": {
		match:   `headers: [{type: RegularExpression, name: X-Version, value: "v[0-9]+"}], path: {value: /a}`,
		request: "GET /a", headers: []string{"X-Version: v17"}, cookiePath: "/a", aside: []asideRequest{missed("GET /a", "X-Version: v17x")},
	},
	"query": {
		match: "queryParams: [{name: q, value: one}]", request: "GET /a?p=0&q=one", cookiePath: "/", aside: []asideRequest{missed("GET /a?q=two")},
	},
	"regex-query": {
		match: `queryParams: [{type: RegularExpression, name: q, value: "[0-9]+"}]`, request: "GET /a?q=17", cookiePath: "/",
		aside: []asideRequest{missed("GET /a?q=x17"), missed("GET /a")},
	},
	"method": {
		match: "method: PUT, path: {value: /a}", request: "PUT /a", cookiePath: "/a", aside: []asideRequest{missed("GET /a"), missed("POST /a")},
	},
	"headers-of-a-backend": {
		match: "path: {value: /a}",
		backend: `, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: here}], add: [{name: X-Add, value: more}], ` +
			`remove: [X-Gone]}}, {type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: X-Back, value: here}], remove: [X-Hidden]}}]`,
		request: "GET /a", headers: []string{"X-Set: client", "X-Gone: client", harness.ReplyHeader + ": X-Hidden: secret"}, cookiePath: "/a",
		seen: map[string]string{"X-Set": "here", "X-Add": "more", "X-Gone": ""}, back: map[string]string{"X-Back": "here", "X-Hidden": ""},
	},
	"headers-of-rule-and-backend": {
		match: "path: {value: /a}", filters: "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: rule}, {name: X-Rule, value: rule}]}}",
		backend: ", filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: backend}]}}]",
		request: "GET /a", cookiePath: "/a", seen: map[string]string{"X-Set": "backend", "X-Rule": "rule"},
	},
	"full-path-rewrite": {
		match:   `path: {type: RegularExpression, value: "/a/[0-9]+"}`,
		filters: "{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /elsewhere/b}}}",
		request: "GET /a/17?q", cookiePath: "/a", uri: "/elsewhere/b?q",
	},
	"host-rewrite": {
		match: "path: {type: Exact, value: /a}", filters: "{type: URLRewrite, urlRewrite: {hostname: inner.example.com}}",
		request: "GET /a", cookiePath: "/a", seen: map[string]string{"Host": "inner.example.com"},
	},
	"redirect": {
		match: "path: {value: /a}", request: "GET /a", cookiePath: "/a",
		more: "- {matches: [{path: {value: /a/out}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: other.example.org, statusCode: 302}}]}",
		aside: []asideRequest{
			{"GET /a/out", nil, http.StatusFound, tokenStays}, {"GET /a/out?s=1", []string{"X-Forwarded-Host: evil.example.org"}, http.StatusFound, tokenStays},
		},
	},
	"mirror": {
		match: "path: {value: /a}", request: "GET /a", cookiePath: "/a",
		filters: "{type: RequestMirror, requestMirror: {percent: 100, backendRef: {name: mirror, port: 80}}}, " +
			"{type: RequestMirror, requestMirror: {fraction: {numerator: 1, denominator: 2}, backendRef: {name: mirror, port: 80}}}",
	},
	"cors": {
		match: "path: {value: /a}", request: "GET /a", headers: []string{"Origin: https://page.example.com"}, cookiePath: "/a",
		filters: `{type: CORS, cors: {allowOrigins: ["https://page.example.com"], allowMethods: [GET, PUT], allowCredentials: true}}`,
		back:    map[string]string{"Access-Control-Allow-Origin": "https://page.example.com", "Access-Control-Allow-Credentials": "true"},
		aside: []asideRequest{
			{"OPTIONS /a", []string{"Origin: https://page.example.com", "Access-Control-Request-Method: PUT"}, http.StatusOK, tokenStays},
		},
	},
	"many-filters": {
		match: "path: {value: /a}", request: "GET /a/b", headers: []string{"Origin: https://page.example.com"}, cookiePath: "/a", uri: "/c/b",
		filters: "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: here}]}}, " +
			"{type: URLRewrite, urlRewrite: {hostname: inner.example.com, path: {type: ReplacePrefixMatch, replacePrefixMatch: /c}}}, " +
			"{type: RequestMirror, requestMirror: {backendRef: {name: mirror, port: 80}}}, " +
			`{type: CORS, cors: {allowOrigins: ["https://page.example.com"]}}, ` +
			"{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: X-Back, value: here}]}}",
		seen: map[string]string{"X-Set": "here", "Host": "inner.example.com"},
		back: map[string]string{"X-Back": "here", "Access-Control-Allow-Origin": "https://page.example.com"},
	},
	"timeout": {
		match: "path: {value: /a}", rest: "timeouts: {request: 2s}", request: "GET /a", cookiePath: "/a",
		aside: []asideRequest{{"GET /a", []string{harness.ReplyDelay + ": 40s"}, http.StatusGatewayTimeout, tokenVoid}},
	},
	"retry": {
		match: "path: {value: /a}", rest: "retry: {codes: [502], attempts: 2, backoff: 10ms}", request: "GET /a", cookiePath: "/a",
		aside: []asideRequest{{"GET /a", []string{harness.ReplyStatus + ": 502"}, http.StatusBadGateway, tokenAnswered}},
	},
	"call": {
		calls: true, match: "method: {service: shop.Cart, method: Add}", request: "GET /shop.Cart/Add", cookiePath: "/shop.Cart/Add",
		aside: []asideRequest{missedCall("GET /shop.Cart/Remove"), missedCall("GET /shop.Cart/Add/more")},
	},
	"calls-by-regex": {
		calls: true, match: `method: {type: RegularExpression, service: "shop[.][A-Z][a-z]+", method: "(Add|Get)"}`, request: "GET /shop.Cart/Get",
		cookiePath: "/", aside: []asideRequest{missedCall("GET /shop.Cart/Remove"), missedCall("GET /shops.Cart/Get")},
	},
	"calls-by-header": {
		calls: true, match: `headers: [{type: RegularExpression, name: x-tenant, value: "o.+"}]`, request: "GET /shop.Cart/Get",
		headers: []string{"X-Tenant: one"}, cookiePath: "/", aside: []asideRequest{missedCall("GET /shop.Cart/Get", "X-Tenant: two")},
	},
	"filtered-calls": {
		calls: true, match: "method: {service: shop.Cart}", request: "GET /shop.Cart/Get", cookiePath: "/shop.Cart",
		filters: "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: here}]}}, " +
			"{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: X-Back, value: here}]}}, " +
			"{type: RequestMirror, requestMirror: {backendRef: {name: called, port: 80}}}",
		backend: ", filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: X-Add, value: more}]}}]",
		seen:    map[string]string{"X-Set": "here", "X-Add": "more"}, back: map[string]string{"X-Back": "here"},
	},
}

// document is the rule's route.
func (r sessionRule) document(name string) string {
	kind, service := "HTTPRoute", "pods"
	if r.calls {
		kind, service = "GRPCRoute", "callees"
	}
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {name: %s, namespace: default}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%[2]s.example.com]
  rules:
  - matches: [{%s}]
    filters: [%s]
    backendRefs: [{name: %s, port: 80%s}]
    sessionPersistence: {sessionName: s}
    %s
  %s`, kind, name, r.match, r.filters, service, r.backend, r.rest, r.more)
}

// TestSessionsWithEveryMatchAndFilter takes sessions through a rule of every kind: each stays on its host, its cookie's path is that of the
// match, whatever a rewrite makes of the request, and its token is in no header but the cookie that the client keeps: not in what a mirror
// gets, a redirect to another host says, or a page of another origin may read.
//
// requirements: S24, S79
func TestSessionsWithEveryMatchAndFilter(t *testing.T) {
	t.Parallel()
	var documents []string
	for name, r := range sessionRules {
		documents = append(documents, r.document(name))
	}
	mirrors := []*harness.Backend{harness.NewBackend(t, "mirror"), harness.NewH2CBackend(t, "mirror")}
	envoy := harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Services: []harness.Service{
			{Name: "pods", Backends: harness.Backends(t, "a", "b", "c")},
			{Name: "callees", Backends: []*harness.Backend{harness.NewH2CBackend(t, "a"), harness.NewH2CBackend(t, "b"), harness.NewH2CBackend(t, "c")}},
			{Name: "mirror", Backends: mirrors[:1]},
			{Name: "called", Backends: mirrors[1:]},
		},
		More: strings.Join(documents, "\n---"),
	}})
	for name, r := range sessionRules {
		t.Run(name, func(t *testing.T) { r.checkSessions(t, envoy, name+".example.com") })
	}
	for _, mirror := range mirrors {
		eventually(t, "there are copies", func() bool { return mirror.Requests() > 0 })
		if mirror.Got("Cookie") || mirror.Got("X-Limpet-Pin") {
			t.Errorf("a mirror got a token or a pin")
		}
	}
}

// checkSessions takes sessions through the rule, and requests aside from it.
func (r sessionRule) checkSessions(t *testing.T, envoy *harness.Envoy, host string) {
	homes := map[string]bool{}
	for turn := range 4 {
		client := envoy.Client()
		client.Host = host
		for range turn {
			stranger := envoy.Stranger()
			stranger.Host = host
			r.send(t, stranger, r.request, r.headers)
		}
		first := r.send(t, client, r.request, r.headers)
		token := wantToken(t, first, "s")
		if token.Path != r.cookiePath {
			t.Errorf("the cookie's path is %q, want %q", token.Path, r.cookiePath)
		}
		r.checkSeen(t, first)
		for _, aside := range append([]asideRequest{{}}, r.aside...) {
			if aside.request != "" {
				r.checkAside(t, client, aside, token.Value, first.Backend)
			}
			for range 6 {
				next := r.send(t, client, r.request, r.headers)
				if next.Backend != first.Backend || next.Status != http.StatusOK {
					t.Fatalf("after %q the session went from %s to %q: %d", aside.request, first.Backend, next.Backend, next.Status)
				}
				checkNowhere(t, next, token.Value)
			}
		}
		homes[first.Backend] = true
	}
	if len(homes) < 2 {
		t.Errorf("all sessions are on %v", homes)
	}
}

func (r sessionRule) send(t *testing.T, client *harness.Client, request string, headers []string) harness.Response {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	if r.calls {
		headers = append(slices.Clone(headers), callLine)
	}
	return client.Do(t, method, path, headers...)
}

// checkAside sends a request with the token of a session, which holds for other requests after it, whatever its answer is.
func (r sessionRule) checkAside(t *testing.T, client *harness.Client, aside asideRequest, token, home string) {
	t.Helper()
	stranger := *client
	stranger.Jar = nil // the token is sent whatever the cookie's path is
	got := r.send(t, &stranger, aside.request, append(slices.Clone(aside.headers), cookieLine("s", token)))
	wantStatus(t, got, aside.status)
	checkNowhere(t, got, token)
	switch cookie := got.Cookie(t, "s"); {
	case aside.token == tokenStays && (cookie != nil || got.Backend != ""):
		t.Errorf("%s: by %q, with %v", aside.request, got.Backend, cookie)
	case aside.token == tokenVoid:
		wantDeleted(t, got, "s")
	case aside.token == tokenAnswered && (cookie != nil || got.Backend != home):
		t.Errorf("%s: by %q, with %v, want the session's own host", aside.request, got.Backend, cookie)
	}
	if r.calls && got.Header.Get("Grpc-Status") != "12" {
		t.Errorf("%s: the call's status is %q, want UNIMPLEMENTED", aside.request, got.Header.Get("Grpc-Status"))
	}
}

// checkSeen compares what reached the backend, and what came back.
func (r sessionRule) checkSeen(t *testing.T, response harness.Response) {
	t.Helper()
	_, uri, _ := strings.Cut(r.request, " ")
	if r.uri != "" {
		uri = r.uri
	}
	if response.Seen.URI != uri {
		t.Errorf("the backend sees %q, want %q", response.Seen.URI, uri)
	}
	for name, want := range r.seen {
		got := response.Seen.Headers.Get(name)
		if name == "Host" {
			got = response.Seen.Host
		}
		if got != want {
			t.Errorf("the backend sees %s: %q, want %q", name, got, want)
		}
	}
	for name, want := range r.back {
		if got := response.Header.Get(name); got != want {
			t.Errorf("the client sees %s: %q, want %q", name, got, want)
		}
	}
}

// checkNowhere fails if a token is in a response's headers.
func checkNowhere(t *testing.T, response harness.Response, token string) {
	t.Helper()
	for name, values := range response.Header {
		if strings.Contains(strings.Join(values, "\n"), token) {
			t.Errorf("the token is in %s: %q", name, values)
		}
	}
}
