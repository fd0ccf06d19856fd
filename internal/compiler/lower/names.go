package lower

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// refusedNames says why no request has a header of such a name.
const refusedNames = "listeners refuse requests that have a header with an underscore in its name (400), as Envoy " +
	"advises for edges: "

// checkSessionHeader warns of a session header that no client can send.
func (l *lowerer) checkSessionHeader(route *gateway.Route, path *field.Path, rule *policy.Rule) {
	for _, s := range rule.Sessions {
		if p := &s.Policies[0]; p.Type == policyconfig.TypeHeader && strings.Contains(p.SessionName, "_") {
			l.rep.WarnAt(report.HeaderMatch, route, path.Child("sessionPersistence").String(),
				refusedNames+"clients cannot send the session header "+p.SessionName+" back; give the session another name")
			return
		}
	}
}

// checkHeaders notes header matches that the API says have no effect, and those that no request meets.
func (l *lowerer) checkHeaders(route *gateway.Route, index int, path *field.Path, matches []gatewayv1.HTTPRouteMatch) {
	for m, spec := range matches {
		seen := map[string]bool{}
		for h, header := range spec.Headers {
			name := strings.ToLower(string(header.Name))
			if seen[name] && !route.ExtraOf(index).EveryCondition {
				l.rep.Advise(report.HeaderMatch, route, path.Child("matches").Index(m).Child("headers").Index(h).Child("name"),
					"the match names this header twice: only the first entry counts")
			}
			seen[name] = true
			if strings.Contains(name, "_") {
				l.rep.WarnAt(
					report.HeaderMatch,
					route,
					path.Child("matches").Index(m).Child("headers").Index(h).Child("name").String(),
					refusedNames+"the match never holds; use a name with hyphens",
				)
			}
		}
	}
}
