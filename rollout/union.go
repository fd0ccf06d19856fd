package rollout

import (
	"bytes"
	"errors"
	"slices"

	"github.com/limpet-proxy/limpet/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/policy-config"
)

// union is a plugin configuration under which the routes of the old configuration and those of the new one have their
// sessions: the new one, with the policies and the routes and clusters of policies that only the old one has. Where both
// can't be, because one route and cluster would have two policies, the new one's holds. It is given as text; where
// the old one has nothing to add, that is the new one's.
func union(from, to *envoy.Discovery) ([]byte, error) {
	if bytes.Equal(from.PluginJSON, to.PluginJSON) {
		return to.PluginJSON, nil
	}
	text, err := policyconfig.Marshal(unite(from.Plugin, to.Plugin))
	if errors.As(err, new(policyconfig.ErrorList)) {
		return to.PluginJSON, nil // they can't be side by side
	}
	return text, err
}

func unite(from, to policyconfig.Config) policyconfig.Config {
	claims := claims{}
	both := to
	both.Policies = slices.Clone(to.Policies)
	index := map[string]int{}
	for i, p := range both.Policies {
		index[p.Name] = i
		claims.take(p)
	}
	for _, old := range from.Policies {
		i, stays := index[old.Name]
		if stays {
			both.Policies[i] = claims.widen(both.Policies[i], old)
			claims.take(both.Policies[i])
			continue
		}
		old.Routes = slices.Clone(old.Routes)
		old.Routes = slices.DeleteFunc(old.Routes, func(route string) bool { return claims.conflict(old.Name, route, old.Clusters) })
		if len(old.Routes) > 0 {
			claims.take(old)
			both.Policies = append(both.Policies, old)
		}
	}
	return both
}

// claims are the policies that hold routes: by route, then by cluster, which is empty for all of them.
type claims map[string]map[string]string

func (c claims) take(p policyconfig.Policy) {
	for _, route := range p.Routes {
		if c[route] == nil {
			c[route] = map[string]string{}
		}
		for _, cluster := range orAll(p.Clusters) {
			c[route][cluster] = p.Name
		}
	}
}

// orAll is the clusters of a policy, or the one that stands for all.
func orAll(clusters []string) []string {
	if len(clusters) == 0 {
		return []string{""}
	}
	return clusters
}

// conflict tells whether a route is held by another policy for one of the clusters, or for all.
func (c claims) conflict(name, route string, clusters []string) bool {
	for cluster, holder := range c[route] {
		if holder != name && (cluster == "" || len(clusters) == 0 || slices.Contains(clusters, cluster)) {
			return true
		}
	}
	return false
}

// widen lets a policy hold what it held before, as far as no other does now.
func (c claims) widen(p, old policyconfig.Policy) policyconfig.Policy {
	if len(p.Clusters) > 0 && len(old.Clusters) > 0 {
		for _, cluster := range old.Clusters {
			free := !slices.ContainsFunc(p.Routes, func(route string) bool { return c.conflict(p.Name, route, []string{cluster}) })
			if free && !slices.Contains(p.Clusters, cluster) {
				p.Clusters = append(slices.Clone(p.Clusters), cluster)
			}
		}
	}
	for _, route := range old.Routes {
		if !slices.Contains(p.Routes, route) && !c.conflict(p.Name, route, p.Clusters) {
			p.Routes = append(slices.Clone(p.Routes), route)
		}
	}
	return p
}
