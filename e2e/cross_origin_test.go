package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// crossOrigin is about pages of other origins.
var crossOrigin = option{
	name:  "cross origin",
	rules: append(cookieRules("cors"), headerRules("x-cors")...),
	check: func(t *testing.T, envoy *harness.Envoy, _ []*harness.Backend) {
		t.Run("preflights begin no session", func(t *testing.T) { checkPreflights(t, envoy) })
		t.Run("the session header is exposed", func(t *testing.T) { checkExposed(t, envoy) })
	},
}

func checkPreflights(t *testing.T, envoy *harness.Envoy) {
	preflight := []string{"Origin: https://app.example.com", "Access-Control-Request-Method: POST"}
	for range 3 {
		wantNoToken(t, envoy.Stranger().Do(t, http.MethodOptions, "/cors", preflight...), "cors")
		if got := envoy.Stranger().Do(t, http.MethodOptions, "/x-cors", preflight...).Header["X-Cors"]; len(got) > 0 {
			t.Errorf("a preflight got the token %q", got)
		}
	}
	wantToken(t, envoy.Stranger().Do(t, http.MethodOptions, "/cors"), "cors")
	wantToken(t, visit(t, envoy.Stranger(), "/cors", preflight...), "cors")
}

// checkExposed: a page of another origin can read the session header only where it is exposed.
func checkExposed(t *testing.T, envoy *harness.Envoy) {
	allow := harness.ReplyHeader + ": Access-Control-Allow-Origin: https://app.example.com"
	expose := harness.ReplyHeader + ": Access-Control-Expose-Headers: x-total"

	for _, c := range []struct {
		path  string
		lines []string
		want  []string
	}{
		{"/x-cors", []string{allow}, []string{"x-cors"}},
		{"/x-cors", []string{allow, expose}, []string{"x-cors", "x-total"}},
		{"/x-cors", nil, nil},
		{"/cors", []string{allow}, nil},
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
