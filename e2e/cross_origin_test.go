package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/harness"
)

func TestPreflightsBeginNoSession(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"))
	envoy := harness.Run(t, deployment)
	preflight := []string{"Origin: https://app.example.com", "Access-Control-Request-Method: POST"}
	for range 3 {
		wantNoToken(t, envoy.Stranger().Do(t, http.MethodOptions, "/cart", preflight...), "cart")
		if got := envoy.Stranger().Do(t, http.MethodOptions, "/x-cart", preflight...).Header["X-Cart"]; len(got) > 0 {
			t.Errorf("a preflight got the token %q", got)
		}
	}
	wantToken(t, envoy.Stranger().Do(t, http.MethodOptions, "/cart"), "cart")
	wantToken(t, visit(t, envoy.Stranger(), "/cart", preflight...), "cart")
}

// TestExposeHeaders: a page of another origin can read the session header only where it is exposed.
func TestExposeHeaders(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.HeaderRule("x-cart", "pods"), harness.CookieRule("cart", "pods"))
	envoy := harness.Run(t, deployment)
	allow := harness.ReplyHeader + ": Access-Control-Allow-Origin: https://app.example.com"
	expose := harness.ReplyHeader + ": Access-Control-Expose-Headers: x-total"

	for _, c := range []struct {
		path  string
		lines []string
		want  []string
	}{
		{"/x-cart", []string{allow}, []string{"x-cart"}},
		{"/x-cart", []string{allow, expose}, []string{"x-cart", "x-total"}},
		{"/x-cart", nil, nil},
		{"/cart", []string{allow}, nil},
	} {
		response := visit(t, envoy.Stranger(), c.path, c.lines...)
		got := exposed(response)
		for _, name := range c.want {
			if got[name] != 1 {
				t.Errorf("%s %q: %s is exposed %d times: %q", c.path, c.lines, name, got[name], response.Header["Access-Control-Expose-Headers"])
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s %q: exposed %v, want %v", c.path, c.lines, got, c.want)
		}
	}
}

// exposed counts the names in all Access-Control-Expose-Headers lines.
func exposed(response harness.Response) map[string]int {
	names := map[string]int{}
	for _, line := range response.Header["Access-Control-Expose-Headers"] {
		for name := range strings.SplitSeq(line, ",") {
			names[strings.ToLower(strings.TrimSpace(name))]++
		}
	}
	return names
}
