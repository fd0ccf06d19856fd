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
	var all []string
	all = append(all, describeList("backend", from.Clusters, to.Clusters, clusterName)...)
	for _, c := range describeList("", from.Endpoints, to.Endpoints, clusterName) {
		if !isNewOrGone(c) { // as its cluster is, then
			all = append(all, endpointsOf(c))
		}
	}
	if string(from.PluginJSON) != string(to.PluginJSON) {
		all = append(all, "keys")
	}
	all = append(all, describeList("", from.Secrets, to.Secrets, func(name string) string { return name })...)
	all = append(all, describeList("listener", from.Listeners, to.Listeners, listenerAddress)...)
	for _, r := range describeList("routes of", from.Routes, to.Routes, listenerAddress) {
		if !isNewOrGone(r) {
			all = append(all, r)
		}
	}
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

func isNewOrGone(change string) bool {
	return strings.HasPrefix(change, "new ") || strings.HasSuffix(change, " gone")
}

// endpointsOf says that a cluster's endpoints have changed. Those of a split have weights, too.
func endpointsOf(cluster string) string {
	if strings.Contains(cluster, ":") {
		return "endpoints of " + cluster
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

// describeList compares two lists by the names of their members.
func describeList(what string, from, to []envoy.Packed, format func(name string) string) (all []string) {
	changed, removed := compare(from, to)
	if len(changed)+len(removed) == 0 {
		return nil
	}
	was := byName(from)
	join := func(words ...string) string { return strings.Join(strings.Fields(strings.Join(words, " ")), " ") }
	for _, packed := range changed {
		if _, known := was[packed.Name]; known {
			all = append(all, join(what, format(packed.Name)))
		} else {
			all = append(all, join("new", what, format(packed.Name)))
		}
	}
	for _, name := range removed {
		all = append(all, join(what, format(name), "gone"))
	}
	return all
}
