package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestCORSLetsTheSessionHeaderThrough: where a rule says itself which sites' pages may send requests, these may keep a session in a
// header: the preflight allows it and each response exposes it. A "*" does, but not with credentials.
//
// requirements: S44
func TestCORSLetsTheSessionHeaderThrough(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b")
	const origin = "https://app.example.com"
	lists := map[string]string{
		"x-none":        "",
		"x-listed":      ", allowHeaders: [X-Listed, X-Own], exposeHeaders: [X-Listed]",
		"x-star":        `, allowHeaders: ["*"], exposeHeaders: ["*"]`,
		"x-credentials": `, allowHeaders: ["*"], exposeHeaders: ["*"], allowCredentials: true`,
	}
	var rules []harness.Rule
	for name, more := range lists {
		rule := harness.HeaderRule(name, "pods")
		rule.Tries = []string{`filters: [{type: CORS, cors: {allowOrigins: ["` + origin + `"]` + more + "}}]"}
		rules = append(rules, rule)
	}
	envoy := harness.Run(t, harness.Deployment{Documents: harness.OneRoute(pods, rules...)})
	for name := range lists {
		literally := strings.Contains(lists[name], "Credentials")
		preflight := envoy.Stranger().Do(t, http.MethodOptions, "/"+name,
			"Origin: "+origin, "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: "+name)
		if allowed := preflight.Header["Access-Control-Allow-Headers"]; !corsHas(allowed, name, literally) {
			t.Errorf("%s: a preflight allows the headers %q", name, allowed)
		}
		first := visit(t, envoy.Stranger(), "/"+name, "Origin: "+origin)
		if exposed := first.Header["Access-Control-Expose-Headers"]; !corsHas(exposed, name, literally) {
			t.Errorf("%s: a response exposes the headers %q", name, exposed)
		}
		token := first.Header.Get(name)
		stay(t, envoy.Stranger(), "/"+name, 4, "Origin: "+origin, name+": "+token)
	}
}

// corsHas reports whether lists of headers have one; with credentials a "*" is a header of that name.
func corsHas(lines []string, name string, literally bool) bool {
	names := strings.Split(strings.ReplaceAll(strings.ToLower(strings.Join(lines, ",")), " ", ""), ",")
	return slices.Contains(names, name) || !literally && slices.Contains(names, "*")
}
