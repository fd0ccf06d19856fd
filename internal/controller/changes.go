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
	for _, d := range listDifferences(from.Clusters.Others(to.Clusters)) {
		all = append(all, d.describe("backend", clusterName))
	}
	for _, d := range listDifferences(from.Endpoints.Others(to.Endpoints)) {
		if d.isNew || d.isGone { // as its cluster is, then
			continue
		}
		all = append(all, endpointsOf(d.describe("", clusterName)))
	}
	if string(from.PluginJSON) != string(to.PluginJSON) {
		all = append(all, "keys")
	}
	for _, d := range listDifferences(from.Secrets, to.Secrets) {
		all = append(all, d.describe("", func(name string) string { return name }))
	}
	for _, d := range listDifferences(from.Listeners, to.Listeners) {
		all = append(all, d.describe("listener", listenerAddress))
	}
	for _, d := range listDifferences(from.Routes, to.Routes) {
		if d.isNew || d.isGone { // as their listener is
			continue
		}
		all = append(all, d.describe("routes of", listenerAddress))
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

// difference is a resource that has changed, is new, or is gone.
type difference struct {
	name          string
	isNew, isGone bool
}

// describe says for people what is different.
func (d difference) describe(what string, format func(name string) string) string {
	text := strings.TrimSpace(what + " " + format(d.name))
	switch {
	case d.isNew:
		return "new " + text
	case d.isGone:
		return text + " gone"
	default:
		return text
	}
}

// listDifferences compares two lists by the names of their members.
func listDifferences(from, to []*envoy.Packed) (all []difference) {
	changed, removed := compare(from, to)
	if len(changed)+len(removed) == 0 {
		return nil
	}
	was := byName(from)
	for _, packed := range changed {
		_, known := was[packed.Name]
		all = append(all, difference{name: packed.Name, isNew: !known})
	}
	for _, name := range removed {
		all = append(all, difference{name: name, isGone: true})
	}
	return all
}
