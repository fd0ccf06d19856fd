package controller

import (
	"fmt"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// nothingDifferent is that of a change which leads to nothing else.
const nothingDifferent = "nothing that Envoy sees"

// describeChanges says for people what is different in a configuration, the first few things in one line.
func describeChanges(from, to *envoy.Served) string {
	clustersBefore, clusters := from.Clusters.Others(to.Clusters)
	endpointsBefore, endpoints := from.Endpoints.Others(to.Endpoints)
	all := appendChanges(nil, clustersBefore, clusters, true, "backend ", clusterName)
	all = appendChanges(all, endpointsBefore, endpoints, false, "", endpointsOf)
	if string(from.PluginJSON) != string(to.PluginJSON) {
		all = append(all, "keys")
	}
	all = appendChanges(all, from.Secrets, to.Secrets, true, "", func(name string) string { return name })
	all = appendChanges(all, from.Listeners, to.Listeners, true, "listener ", listenerAddress)
	all = appendChanges(all, from.Routes, to.Routes, false, "routes of ", listenerAddress)
	const most = 4
	switch n := len(all); {
	case n == 0:
		return nothingDifferent
	case n > most+1:
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	default:
		return strings.Join(all, ", ")
	}
}

// appendChanges appends what is different between two lists, for people. What is new or gone is left out where it comes
// and goes with members of another list.
func appendChanges(
	all []string, before, now []*envoy.Packed, comeAlone bool, what string, format func(name string) string,
) []string {
	for _, d := range compare(before, now) {
		switch {
		case d.before != nil && d.now != nil:
			all = append(all, what+format(d.now.Name))
		case !comeAlone:
		case d.now != nil:
			all = append(all, "new "+what+format(d.now.Name))
		default:
			all = append(all, what+format(d.before.Name)+" gone")
		}
	}
	return all
}

// endpointsOf names a cluster's endpoints. Those of a split have weights, too.
func endpointsOf(cluster string) string {
	if name := clusterName(cluster); strings.Contains(name, ":") {
		return "endpoints of " + name
	}
	return "endpoints or weights of " + cluster
}

// clusterName is namespace/name:port for that of a Service.
func clusterName(cluster string) string {
	parts := strings.SplitN(cluster, "/", 5)
	if parts[0] != "service" || len(parts) < 4 {
		return cluster
	}
	name := parts[1] + "/" + parts[2] + ":" + parts[3]
	if len(parts) > 4 {
		name += " (" + parts[4] + ")"
	}
	return name
}

// listenerAddress is that of the listener of a name, or of its routes, as address:port.
func listenerAddress(name string) string {
	parts := strings.Split(name+"//", "/")
	if at, err := envoy.ParseListenerName(strings.Join(parts[:3], "/")); err == nil {
		return at.String()
	}
	return name
}
