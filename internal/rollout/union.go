package rollout

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Unite gives a configuration with all that either has: what an Envoy may have that is somewhere between the two. Where
// both have something of one name, it is the new one's.
func Unite(from, to *envoy.Discovery) *envoy.Discovery {
	both := *to
	both.Plugin.Policies = keepLast(slices.Concat(from.Plugin.Policies, to.Plugin.Policies),
		func(p policyconfig.Policy) string { return p.Name })
	both.Listeners = keepLast(slices.Concat(from.Listeners, to.Listeners), nameOf)
	both.Routes = keepLast(slices.Concat(from.Routes, to.Routes), func(r envoy.Routes) string { return r.Name })
	both.Clusters = keepLast(slices.Concat(from.Clusters, to.Clusters), func(c envoy.Cluster) string { return c.Name })
	return &both
}
