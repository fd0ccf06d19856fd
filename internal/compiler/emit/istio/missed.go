package istio

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

const kindEnvoyFilter = "EnvoyFilter"

// reportMissed reports a user's patches of a VirtualService's route by its name that do not name the route's copies
// too. Copies have names of their own, for controllers that change weights take the first HTTP route of a name.
func (e *emitter) reportMissed(led []*ledRule) {
	for _, o := range e.plan.Objects[kindEnvoyFilter] {
		if e.plan.WroteBefore(o.Ref) {
			continue
		}
		patched := listPatchedRoutes(e.parse(o))
		for _, r := range led {
			if isVirtual(r.Rule) {
				e.reportMissedBy(o, patched, r)
			}
		}
	}
}

// reportMissedBy reports an EnvoyFilter's patches that miss the copies of one rule.
func (e *emitter) reportMissedBy(o *ir.Object, patched []string, r *ledRule) {
	seen := map[string]bool{}
	for _, names := range matchNames(r.AttachedRule) {
		i := slices.Index(patched, names[0])
		missed := slices.DeleteFunc(slices.Clone(names[1:]), func(name string) bool { return slices.Contains(patched, name) })
		if i < 0 || len(missed) == 0 || seen[names[0]] {
			continue
		}
		seen[names[0]] = true
		e.rep.NotSupportedBy(report.TargetLacks, o.Subject, Target,
			fmt.Sprintf("spec.configPatches[%d].match.routeConfiguration.vhost.route.name", i),
			"it holds for requests without a session alone: the sessions of the split "+r.Route.Kind+" "+r.Route.Key()+
				" go through copies of the route; patch them too: "+strings.Join(missed, ", "))
	}
}

// listPatchedRoutes are the names of the routes that an EnvoyFilter patches at Gateways, one for each patch; empty for
// one that is of no single route.
func listPatchedRoutes(filter document) []string {
	patches := entriesOf(childOf(filter, "spec"), "configPatches")
	names := make([]string, len(patches))
	for i, patch := range patches {
		match := childOf(patch, "match")
		context, _ := match["context"].(string)
		if patch["applyTo"] == "HTTP_ROUTE" && !strings.HasPrefix(context, "SIDECAR_") {
			names[i], _ = childOf(childOf(childOf(match, "routeConfiguration"), "vhost"), "route")["name"].(string)
		}
	}
	return names
}
