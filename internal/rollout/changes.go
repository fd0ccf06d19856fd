package rollout

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Changes says for people what is different in a configuration, in a fixed order; nothing for equal ones.
func Changes(from, to *envoy.Discovery) []string {
	var all []string
	all = append(all, clusterChanges(from, to)...)
	if !reflect.DeepEqual(from.Plugin.Keys, to.Plugin.Keys) {
		all = append(all, "keys")
	}
	all = append(all, compareNamed("session policy", from.Plugin.Policies, to.Plugin.Policies,
		func(p policyconfig.Policy) string { return p.Name },
		samePolicy)...)
	all = append(all, compareNamed("listener", from.Listeners, to.Listeners, resourceName, sameResource)...)
	for _, route := range compareNamed("routes of", from.Routes, to.Routes,
		func(r envoy.Routes) string { return resourceName(r.Resource) },
		func(a, b envoy.Routes) bool { return sameResource(a.Resource, b.Resource) }) {
		if !strings.HasPrefix(route, "new ") && !strings.HasSuffix(route, " gone") { // as its listener is, then
			all = append(all, route)
		}
	}
	return all
}

// Summary is the first few changes in one line.
func Summary(changes []string) string {
	const most = 4
	switch n := len(changes); {
	case n == 0:
		return "nothing that Envoy sees"
	case n > most+1:
		return strings.Join(changes[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	default:
		return strings.Join(changes, ", ")
	}
}

// dropEqual leaves out what is in the same place of two lists of one length, and equal: nearly all of thousands, most often.
func dropEqual[T any](from, to []T, isEqual func(a, b T) bool) (restFrom, restTo []T) {
	if len(from) != len(to) {
		return from, to
	}
	for i := range from {
		if !isEqual(from[i], to[i]) {
			restFrom, restTo = append(restFrom, from[i]), append(restTo, to[i])
		}
	}
	return restFrom, restTo
}

func clusterChanges(from, to *envoy.Discovery) []string {
	all := compareNamed("backend", from.Clusters, to.Clusters, clusterName,
		func(a, b envoy.Cluster) bool { return bytes.Equal(a.Settings, b.Settings) })
	was := map[string][]byte{}
	before, now := dropEqual(from.Clusters, to.Clusters, func(a, b envoy.Cluster) bool {
		return a.Name == b.Name && bytes.Equal(a.Endpoints, b.Endpoints)
	})
	for _, c := range before {
		was[c.Name] = c.Endpoints
	}
	for _, c := range now {
		if before, known := was[c.Name]; known && !bytes.Equal(before, c.Endpoints) {
			all = append(all, endpointsOf(c))
		}
	}
	return all
}

func endpointsOf(c envoy.Cluster) string {
	if strings.HasPrefix(c.Name, "service/") {
		return "endpoints of " + clusterName(c)
	}
	return "endpoints or weights of " + clusterName(c)
}

// clusterName is namespace/name:port for that of a Service.
func clusterName(c envoy.Cluster) string {
	parts := strings.SplitN(c.Name, "/", 5)
	if parts[0] != "service" || len(parts) < 4 {
		return c.Name
	}
	name := parts[1] + "/" + parts[2] + ":" + parts[3]
	if len(parts) > 4 {
		name += " (" + parts[4] + ")"
	}
	return name
}

// resourceName is the address of a listener, as address:port or [address]:port.
func resourceName(r envoy.Resource) string {
	address := strings.TrimPrefix(r.Name, "listener/")
	host, port, _ := strings.Cut(address, "/")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// samePolicy compares policies, but not the routes that they are for: those have lines of their own.
func samePolicy(a, b policyconfig.Policy) bool {
	a.Routes, b.Routes = nil, nil
	return reflect.DeepEqual(a, b)
}

func sameResource(a, b envoy.Resource) bool { return bytes.Equal(a.Content, b.Content) }

// compareNamed compares two lists by the names of their members.
func compareNamed[T any](what string, from, to []T, name func(T) string, same func(a, b T) bool) []string {
	from, to = dropEqual(from, to, func(a, b T) bool { return same(a, b) && name(a) == name(b) })
	was := map[string]T{}
	for _, x := range from {
		was[name(x)] = x
	}
	var all []string
	for _, x := range to {
		before, known := was[name(x)]
		delete(was, name(x))
		switch {
		case !known:
			all = append(all, "new "+what+" "+name(x))
		case !same(before, x):
			all = append(all, what+" "+name(x))
		}
	}
	var gone []string
	for n := range was {
		gone = append(gone, what+" "+n+" gone")
	}
	slices.Sort(gone)
	return append(all, gone...)
}
