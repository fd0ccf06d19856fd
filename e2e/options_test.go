package e2e

import (
	"fmt"
	"maps"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// option is a topic of policies: rules on the Service "pods", changes to their policies by session name, and what
// must come of them. No two topics use one session name.
type option struct {
	name  string
	rules []harness.Rule
	edits map[string]func(*policyconfig.Policy)
	check func(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend)
}

// TestOptions deploys all options behind one Envoy, for an Envoy takes a second of processor time to start.
//
// requirements: 2A.6, 2A.19, S43, S44, H2, H4
func TestOptions(t *testing.T) {
	t.Parallel()
	options := []option{
		cookieAttributes, pluginAttributes, forward, headerSessions, backendsCookie, logout, crossOrigin, caches, revocation,
	}
	pods, deployment := threePods(t)
	deployment.Documents.Routes = nil
	edits := map[string]func(*policyconfig.Policy){}
	for i, o := range options {
		route := harness.Route{Name: fmt.Sprintf("option-%d", i), Rules: o.rules}
		deployment.Documents.Routes = append(deployment.Documents.Routes, route)
		maps.Copy(edits, o.edits)
	}
	deployment.Policies = editing(t, edits)
	envoy := harness.Run(t, deployment)
	for _, o := range options {
		t.Run(o.name, func(t *testing.T) { o.check(t, envoy, pods) })
	}
}

// cookieRules are cookie sessions of these names on the Service "pods"; headerRules are header sessions.
func cookieRules(names ...string) []harness.Rule {
	var rules []harness.Rule
	for _, name := range names {
		rules = append(rules, harness.CookieRule(name, "pods"))
	}
	return rules
}

func headerRules(names ...string) []harness.Rule {
	var rules []harness.Rule
	for _, name := range names {
		rules = append(rules, harness.HeaderRule(name, "pods"))
	}
	return rules
}
