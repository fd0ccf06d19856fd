package rig

import (
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// lead rewrites a deployment's split as control planes write one. Each backend gets a cluster of its own, and a copy of
// the route that a header selects. The weights choose among the clusters.
func lead(config object) {
	merged := at(config, "static_resources", "clusters", 0).(object)
	manager := listenerTree(at(config, "static_resources", "listeners", 0).(object)).manager()
	routes := at(manager, "route_config", "virtual_hosts", 0).(object)
	weighted := at(routes, "routes", 0).(object)
	leads := []policyconfig.Lead{{Cluster: "blue", Backend: 1, Rule: 1}, {Cluster: "green", Backend: 2, Rule: 1}}
	policies := at(weighted, "metadata", "filter_metadata", "limpet").(object)
	named := `{"leads":["` + leads[0].String() + `","` + leads[1].String() + `"],`
	policies["policies"] = strings.Replace(policies["policies"].(string), "{", named, 1)
	header := policyconfig.BackendHeader(policyconfig.DefaultPinHeader)
	var clusters, copies, shares []any
	for i, l := range leads {
		cluster, led := clone(merged), clone(weighted)
		cluster["name"] = l.Cluster
		load := cluster["load_assignment"].(object)
		load["cluster_name"], load["endpoints"] = l.Cluster, []any{at(load, "endpoints", i)}
		led["match"].(object)["headers"] = []any{object{"name": header, "string_match": object{"exact": l.Value()}}}
		led["route"].(object)["cluster"] = l.Cluster
		clusters, copies = append(clusters, cluster), append(copies, led)
		shares = append(shares, object{"name": l.Cluster, "weight": 1})
	}
	action := weighted["route"].(object)
	delete(action, "cluster")
	action["weighted_clusters"] = object{"clusters": shares}
	routes["routes"] = append(copies, weighted)
	at(config, "static_resources").(object)["clusters"] = clusters
	early := at(manager, "early_header_mutation_extensions", 0, "typed_config").(object)
	early["mutations"] = append(early["mutations"].([]any), object{"remove": header})
}
