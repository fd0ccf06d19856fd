package lower

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// newPlainAction is the action of a rule without sessions.
func (l *lowerer) newPlainAction(route *gateway.Route, choices []choice) ir.Route {
	choices = slices.DeleteFunc(slices.Clone(choices), func(c choice) bool { return c.weight == 0 })
	if !slices.ContainsFunc(choices, func(c choice) bool { return c.backend != nil }) {
		return ir.Route{Status: gateway.UnresolvedStatusCode(route)}
	}
	if len(choices) == 1 {
		action := ir.Route{Cluster: l.addSharedCluster(choices[0])}
		action.RequestHeaders, action.ResponseHeaders = choices[0].request, choices[0].response
		action.Rewrite = choices[0].rewrite()
		return action
	}
	var split []ir.Share
	for _, c := range choices {
		split = append(split, ir.Share{
			Cluster: l.addSharedCluster(c), Weight: c.weight, RequestHeaders: c.request, ResponseHeaders: c.response,
			RewriteHost: c.host,
		})
	}
	return ir.Route{Split: split}
}

// addSharedCluster gives the cluster that all rules have in common for a backend.
func (l *lowerer) addSharedCluster(c choice) string {
	if c.backend == nil {
		return l.addCluster(ir.Cluster{
			Name:       fmt.Sprintf("answer/%d", c.unresolvedStatus),
			Localities: []ir.Locality{{Name: "answer", Weight: 1, DirectStatus: c.unresolvedStatus}},
		})
	}
	return l.addCluster(ir.Cluster{
		Name:        c.clusterName(),
		HTTP2:       c.http2,
		Balancing:   c.balancing,
		RetryBudget: c.budget,
		Hosts:       c.hosts(),
		Localities:  []ir.Locality{{Name: c.backend.Name, TLS: c.tls, Weight: 1}},
	}, newOrigin(c, c.backend.Ready()))
}

// addCluster adds a cluster with the origins of its localities' hosts; none if they are given.
func (l *lowerer) addCluster(c ir.Cluster, origins ...origin) string {
	l.clusters[c.Name] = Cluster{Cluster: c, origins: origins}
	return c.Name
}

// newStickyAction is the action of a rule with sessions. One backend that takes requests keeps its shared cluster.
// Several become one cluster of the rule's own, for in Gateway API up to 1.6 a session overrides the weights, even 0:
// its host must be found whichever backend's turn it is.
func (l *lowerer) newStickyAction(
	route *gateway.Route,
	path *field.Path,
	rule *policy.Rule,
	choices []choice,
) ir.Route {
	usable := func(c choice) bool { return c.backend != nil }
	choices = slices.DeleteFunc(slices.Clone(choices), func(c choice) bool { return c.backend == nil && c.weight == 0 })
	if !slices.ContainsFunc(choices, usable) {
		return ir.Route{Status: gateway.UnresolvedStatusCode(route)}
	}
	if l.refuseSplitFilters(route, path, choices) {
		return ir.Route{Status: gateway.UnresolvedStatusCode(route)}
	}
	session := rule.Sessions[0]
	l.limitDrain(choices, func(choice) *policy.Session { return session })
	action := ir.Route{Sticky: true, Policies: session.Policies, FailStatus: ir.FailStatus(&session.Policies[0])}
	action.RequestHeaders, action.ResponseHeaders = choices[0].request, choices[0].response
	action.Rewrite = choices[0].rewrite()
	if len(choices) == 1 && choices[0].weight > 0 {
		action.Cluster, action.Policies = l.addSharedCluster(choices[0]), ir.Anywhere(action.Policies)
		action.Policies = l.tellHosts(route, path, action.Policies, session, choices...)
		return action
	}
	l.checkNearby(route, path, choices)
	first := choices[slices.IndexFunc(choices, usable)]
	cluster := ir.Cluster{
		Name: mergedClusterName(
			route,
			rule,
		) + first.limitSuffix(), Balancing: choices[0].balancing, RetryBudget: first.budget,
		Hosts: l.hostsOfSplit(route, path, first, choices),
		HTTP2: !slices.ContainsFunc(choices, func(c choice) bool { return usable(c) && !c.http2 }),
	}
	if ir.StaysWithin(&session.Policies[0]) && l.tellBackends(route, path, choices) {
		cluster.Within, action.Within = true, true
		cluster.Name += "/within"
	} else {
		action.Policies = ir.Anywhere(action.Policies)
	}
	if i := slices.IndexFunc(choices, func(c choice) bool { return c.clientSuffix() != "" }); i >= 0 {
		cluster.Name += choices[i].clientSuffix()
	}
	total, others, origins := uint32(0), canTakeOver(choices), []origin{}
	for _, c := range choices {
		total += c.weight
		cluster.Localities, origins = append(cluster.Localities, newLocality(c)), append(origins, newOrigin(c, others))
	}
	if total == 0 {
		answer := choice{weight: 1, unresolvedStatus: gateway.UnresolvedStatusCode(route)}
		cluster.Localities = append(cluster.Localities, newLocality(answer))
	}
	action.Cluster = l.addCluster(cluster, origins...)
	action.Policies = l.tellHosts(route, path, action.Policies, session, choices...)
	return action
}

// tellHosts gives policies what they have to know of the hosts of the choices.
func (l *lowerer) tellHosts(
	route *gateway.Route, path *field.Path, policies []policyconfig.Policy, session *policy.Session, choices ...choice,
) []policyconfig.Policy {
	policies = l.tellOwners(route, path, policies, session, choices...)
	return l.revokeBackends(route, path, policies, session, choices...)
}

// tellBackends reports whether the tags of a split's backends, by which tokens name them, tell them apart.
func (l *lowerer) tellBackends(route *gateway.Route, path *field.Path, choices []choice) bool {
	tags := map[uint32]string{}
	for _, c := range choices {
		if c.backend == nil {
			continue
		}
		tag := token.BackendTag(c.backend.Name)
		if other := tags[tag]; other != "" && other != c.backend.Name {
			l.rep.Warn(report.SplitNotSupported, route, field.Invalid(path.Child("backendRefs"), c.backend.Name, fmt.Sprintf(
				"its tag in tokens is that of %s: sessions that lose their host go to any, as under Rebalance; rename one", other)))
			return false
		}
		tags[tag] = c.backend.Name
	}
	return true
}

// mergedClusterName is the name of a rule's own cluster. Rules that differ by listener share it, for their backends do
// not, unless a policy on them is without room on a Gateway (S63).
func mergedClusterName(route *gateway.Route, rule *policy.Rule) string {
	name := policy.RuleIdentity(route, rule.Sessions[0].Rule).RouteName()
	if rule.AncestorLimited {
		name += "/gateway/" + rule.Gateway().Key()
	}
	return name
}

// newPerBackendAction is the action of a rule whose backends have sessions of their own: the weights choose a backend
// for every request, and its session pins to a host in there (S32). A backend without a session just takes its share.
func (l *lowerer) newPerBackendAction(
	route *gateway.Route, path *field.Path, rule *policy.Rule, choices []choice,
) ir.Route {
	l.limitDrain(choices, func(c choice) *policy.Session { return rule.Session(c.backend) })
	action := l.newPlainAction(route, choices)
	for _, c := range choices {
		if c.backend == nil {
			continue
		}
		session := rule.Session(c.backend)
		if session == nil {
			continue
		}
		policies := l.tellHosts(route, path, ir.Anywhere(session.Policies), session, c)
		if len(choices) > 1 {
			policies = restrictTo(policies, c.clusterNames(l.clients)...)
		}
		action.Policies = append(action.Policies, policies...)
		if c.weight > 0 {
			enableSessions(&action, l.addSharedCluster(c), ir.FailStatus(&policies[0]))
		}
	}
	return action
}

// restrictTo makes policies hold only for requests that the proxy sends to some clusters.
func restrictTo(policies []policyconfig.Policy, clusters ...string) []policyconfig.Policy {
	restricted := slices.Clone(policies)
	for i := range restricted {
		restricted[i].Clusters = clusters
	}
	return restricted
}

// enableSessions turns sessions on for a cluster of an action.
func enableSessions(action *ir.Route, cluster string, failStatus int) {
	action.Sticky = true
	if at := slices.IndexFunc(action.Split, func(s ir.Share) bool { return s.Cluster == cluster }); at >= 0 {
		action.Split[at].FailStatus = failStatus
		return
	}
	action.FailStatus = failStatus
}

// newLocality is a choice as a part of a merged cluster. A locality that could not answer would lose its share to the
// others, so the proxy answers in its place.
func newLocality(c choice) ir.Locality {
	if c.backend == nil {
		return ir.Locality{Name: "answer", Weight: c.weight, DirectStatus: c.unresolvedStatus}
	}
	p := ir.Locality{Name: c.backend.Name, Tag: token.BackendTag(c.backend.Name), TLS: c.tls, Weight: c.weight}
	if !c.backend.Ready() && c.weight > 0 {
		p.DirectStatus = statusUnready
	}
	return p
}
