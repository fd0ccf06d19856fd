package rollout

import (
	"bytes"
	"errors"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Unite gives a configuration with all that either has: what an Envoy may have that is somewhere between the two. Where
// both have something of one name, it is the new one's.
func Unite(from, to *envoy.Discovery) (*envoy.Discovery, error) {
	text, err := unionJSON(from, to)
	if err != nil {
		return to, err
	}
	both := *to
	both.PluginJSON = text
	if !bytes.Equal(text, to.PluginJSON) {
		both.Plugin, _ = unite(from.Plugin, to.Plugin)
	}
	both.Listeners = keepLast(slices.Concat(from.Listeners, to.Listeners), nameOf)
	both.Routes = keepLast(slices.Concat(from.Routes, to.Routes), func(r envoy.Routes) string { return r.Name })
	both.Clusters = keepLast(slices.Concat(from.Clusters, to.Clusters), func(c envoy.Cluster) string { return c.Name })
	both.Filter, err = to.WithPlugin(text)
	return &both, err
}

// UnitePolicies gives the text of a plugin configuration with the policies of both: see [Unite].
func UnitePolicies(from, to *envoy.Discovery) ([]byte, error) { return unionJSON(from, to) }

// unionJSON gives a plugin configuration under which the routes of the old configuration and those of the new one have
// their sessions: the new one, with the policies and the routes and clusters of policies that only the old one has.
// Where both can't be, because one route and cluster would have two policies, it is the new one's. It is given as text;
// where the old one has nothing to add, that is the new one's.
func unionJSON(from, to *envoy.Discovery) ([]byte, error) {
	if bytes.Equal(from.PluginJSON, to.PluginJSON) {
		return to.PluginJSON, nil
	}
	both, more := unite(from.Plugin, to.Plugin)
	if !more {
		return to.PluginJSON, nil
	}
	text, err := policyconfig.Marshal(both)
	if errors.As(err, new(policyconfig.ErrorList)) {
		return to.PluginJSON, nil // they can't be side by side
	}
	return text, err
}

// unite gives the union, and whether it has more than the new configuration.
func unite(from, to policyconfig.Config) (both policyconfig.Config, more bool) {
	claims := make(routeClaims, len(to.Policies))
	both = to
	both.Policies = slices.Clone(to.Policies)
	index := make(map[string]int, len(to.Policies))
	for i, p := range both.Policies {
		index[p.Name] = i
		claims.take(p)
	}
	for _, old := range from.Policies {
		i, stays := index[old.Name]
		if stays {
			if wide, wider := claims.widen(both.Policies[i], old); wider {
				both.Policies[i], more = wide, true
				claims.take(wide)
			}
			continue
		}
		old.Routes = slices.DeleteFunc(slices.Clone(old.Routes), func(route string) bool {
			return claims.conflict(old.Name, route, old.Clusters)
		})
		if len(old.Routes) > 0 {
			claims.take(old)
			both.Policies, more = append(both.Policies, old), true
		}
	}
	return both, more
}

// routeClaims are the policies that hold routes: by route, then by cluster, which is empty for all of them.
type routeClaims map[string]map[string]string

func (c routeClaims) take(p policyconfig.Policy) {
	for _, route := range p.Routes {
		if c[route] == nil {
			c[route] = map[string]string{}
		}
		for _, cluster := range clustersOrAll(p.Clusters) {
			c[route][cluster] = p.Name
		}
	}
}

// clustersOrAll gives the clusters of a policy, or the one that stands for all.
func clustersOrAll(clusters []string) []string {
	if len(clusters) == 0 {
		return []string{""}
	}
	return clusters
}

// conflict tells whether a route is held by another policy for one of the clusters, or for all.
func (c routeClaims) conflict(name, route string, clusters []string) bool {
	for cluster, holder := range c[route] {
		if holder != name && (cluster == "" || len(clusters) == 0 || slices.Contains(clusters, cluster)) {
			return true
		}
	}
	return false
}

// widen lets a policy hold what it held before, as far as no other does now; false if that is nothing more.
func (c routeClaims) widen(p, old policyconfig.Policy) (wide policyconfig.Policy, wider bool) {
	if len(p.Clusters) > 0 && len(old.Clusters) > 0 {
		for _, cluster := range old.Clusters {
			free := !slices.ContainsFunc(p.Routes, func(route string) bool {
				return c.conflict(p.Name, route, []string{cluster})
			})
			if free && !slices.Contains(p.Clusters, cluster) {
				p.Clusters, wider = append(slices.Clone(p.Clusters), cluster), true
			}
		}
	}
	for _, route := range old.Routes {
		if !slices.Contains(p.Routes, route) && !c.conflict(p.Name, route, p.Clusters) {
			p.Routes, wider = append(slices.Clone(p.Routes), route), true
		}
	}
	return p, wider
}
