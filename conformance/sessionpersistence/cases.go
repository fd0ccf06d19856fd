package sessionpersistence

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/conformance/utils/weight"
	"sigs.k8s.io/gateway-api/pkg/features"
)

const (
	// requests is how many go the same way before that counts as a session: the table of the GEP asks for 50 or more.
	requests = 50
	// lifetime is the absoluteTimeout of the manifests of permanent cookies, and tolerance what a clock may be off.
	lifetime  = 5 * time.Minute
	tolerance = 15 * time.Second
	// short is the absoluteTimeout of sessions whose end is waited for.
	short = 10 * time.Second
)

// testCase is a test that routes of both kinds have.
type testCase struct {
	name, file, description string
	feature                 features.FeatureName
	only                    Place  // of HTTPRoutes in this place alone; empty for all
	path                    string // empty for /
	check                   func(t *testing.T, place Place, c *client)
}

// cases has the rows of the GEP's table: H1 and H2 (G1 and G3) in Cookie, H3 (G4) in CookieWeight, H4 in
// CookiePermanentLifetime, G2 in Header, and two of its other MUSTs.
var cases = []testCase{
	{
		name: "Cookie", file: "cookie", feature: SupportCookie, check: checkCookie,
		description: "a cookie that ends with the browser keeps a client on one pod",
	},
	{
		name: "CookiePermanentLifetime", file: "cookie-permanent-lifetime", feature: SupportCookiePermanentLifetime,
		check:       checkPermanent,
		description: "a permanent cookie tells the client the session's absoluteTimeout",
	},
	{
		name: "CookieAbsoluteTimeout", file: "cookie-absolute-timeout", feature: SupportCookieAbsoluteTimeout,
		check:       checkAbsoluteTimeout,
		description: "absoluteTimeout ends a session whose cookie has no end of its own",
	},
	{
		name: "CookieWeight", file: "cookie-weight", feature: SupportCookie, check: checkWeight,
		description: "weights hold for new sessions (in rules) or for all requests (in backends)",
	},
	{
		name: "CookieRuleScope", file: "cookie-rule-scope", feature: SupportCookie, check: checkRuleScope, only: InRule,
		path:        "/a",
		description: "two rules with one backend share no session",
	},
	{
		name: "Header", file: "header", feature: SupportHeader, check: checkHeader,
		description: "a header keeps a client on one pod",
	},
}

// run gives the test's function.
func (c testCase) run(place Place, kind *routeKind) func(*testing.T, *suite.ConformanceTestSuite) {
	return func(t *testing.T, s *suite.ConformanceTestSuite) {
		route := types.NamespacedName{Namespace: suite.InfrastructureNamespace, Name: "session-persistence-" + c.file}
		gateway := types.NamespacedName{Namespace: suite.InfrastructureNamespace, Name: "same-namespace"}
		address := kind.accept(t, s, gateway, route)
		k := &client{
			t:    t,
			path: cmp.Or(c.path, "/"),
			host: c.file + ".session-persistence.example.com",
			send: kind.sender(t, s, address),
		}
		k.awaitRoute(s.TimeoutConfig.MaxTimeToConsistency)
		c.check(t, place, k)
	}
}

// checkCookie is H1 and H2 of the GEP's table, and its rule on the path (GEP-1619, "Path") for backends.
func checkCookie(t *testing.T, place Place, c *client) {
	cookies := c.begin().cookies(t)
	for _, cookie := range cookies {
		if !cookie.Expires.IsZero() || cookie.MaxAge != 0 {
			t.Errorf("%s: a cookie of the lifetime Session must have neither Expires nor Max-Age", cookie.Raw)
		}
		if place == InBackend && cookie.Path != "/" {
			t.Errorf("%s: the path must be / where none is configured", cookie.Raw)
		}
	}
	c.expectSamePod(cookieFields(cookies, "another=cookie"))
	c.expectManyPods(nil)
}

// checkPermanent is H4: the cookie's end is the session's.
func checkPermanent(t *testing.T, _ Place, c *client) {
	cookies := c.begin().cookies(t)
	for _, cookie := range cookies {
		remaining := time.Duration(cookie.MaxAge) * time.Second
		if cookie.MaxAge == 0 && !cookie.Expires.IsZero() {
			remaining = time.Until(cookie.Expires)
		}
		if (remaining - lifetime).Abs() > tolerance {
			t.Errorf("%s: Max-Age or Expires must say %v, as absoluteTimeout does", cookie.Raw, lifetime)
		}
	}
	c.expectSamePod(cookieFields(cookies))
}

// checkAbsoluteTimeout: where the cookie has no end, the session ends by another mechanism (GEP-1619, "Session"
// lifetime).
func checkAbsoluteTimeout(t *testing.T, _ Place, c *client) {
	began := time.Now()
	cookies := c.begin().cookies(t)
	for _, cookie := range cookies {
		if !cookie.Expires.IsZero() || cookie.MaxAge != 0 {
			t.Errorf("%s: a cookie of the lifetime Session must have neither Expires nor Max-Age", cookie.Raw)
		}
	}
	c.expectSamePod(cookieFields(cookies))
	if took := time.Since(began); took > short {
		t.Fatalf("%d requests took %v, longer than the session: nothing can be said", requests, took)
	}
	time.Sleep(time.Until(began.Add(short + time.Second)))
	c.expectManyPods(cookieFields(cookies))
}

// checkWeight is H3, which the two places answer differently.
func checkWeight(t *testing.T, place Place, c *client) {
	if place == InBackend {
		checkWeightOfRequests(t, c)
		return
	}
	c.expectWeights(func() map[string]string { return nil })
	for _, prefix := range []string{"-v1-", "-v2-"} {
		first := c.beginOn(prefix)
		c.expectSamePod(cookieFields(first.cookies(t)))
	}
}

// checkWeightOfRequests: a client that has a session with each of the backends still goes to either by its weight.
func checkWeightOfRequests(t *testing.T, c *client) {
	one, two := c.beginOn("-v1-"), c.beginOn("-v2-")
	fields := cookieFields(append(one.cookies(t), two.cookies(t)...))
	c.expectWeights(func() map[string]string { return fields })
	for range requests {
		got := c.call(fields)
		if got.pod != one.pod && got.pod != two.pod {
			t.Fatalf("a client with sessions on %s and %s came to %s", one.pod, two.pod, got.pod)
		}
	}
}

// checkRuleScope: the session of a rule's path is none of another rule's (GEP-1619 up to 1.6, "Route Rule API").
func checkRuleScope(t *testing.T, _ Place, c *client) {
	a := c.at("/a").begin()
	other := c.at("/b").call(cookieFields(a.cookies(t)))
	if len(other.cookies(t)) == 0 {
		t.Fatal("the other rule took the first one's session for its own: it set no cookie")
	}
	c.at("/a").expectSamePod(cookieFields(a.cookies(t)))
	c.at("/b").expectSamePod(cookieFields(other.cookies(t)))
}

// checkHeader is G2, and the same for HTTP.
func checkHeader(t *testing.T, _ Place, c *client) {
	const name = "X-Session-Persistence"
	value := c.begin().fields.Get(name)
	if value == "" {
		t.Fatalf("the first answer has no %s", name)
	}
	c.expectSamePod(map[string]string{name: value})
	c.expectManyPods(nil)
}

// cookieFields gives the request's fields for the cookies that a client has, and for others as name=value.
func cookieFields(cookies []*http.Cookie, others ...string) map[string]string {
	pairs := others
	for _, c := range cookies {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return map[string]string{"Cookie": strings.Join(pairs, "; ")}
}

// expectWeights fails unless 70 of 100 requests go to the first backend and 30 to the second.
func (c *client) expectWeights(fields func() map[string]string) {
	c.t.Helper()
	c.t.Run("weights", func(t *testing.T) {
		sender := weight.NewFunctionBasedSender(func() (string, error) {
			got, err := c.send(t, c.host, c.path, fields())
			if err != nil {
				return "", err
			}
			return got.pod, nil
		})
		var err error
		for range weight.MaxTestRetries {
			if err = weight.TestWeightedDistribution(sender, c.weights()); err == nil {
				return
			}
		}
		t.Fatal(fmt.Errorf("weights do not hold: %w", err))
	})
}
