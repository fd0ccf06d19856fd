package serve

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// listChanges says for people what is different in what a Gateway's proxies are served, in a fixed order: listeners, the hosts of
// requests, backends.
func listChanges(from, to *envoy.Served) []string {
	all := listNamed("listener", from.Listeners, to.Listeners)
	all = append(all, listHostChanges(from.Routes, to.Routes)...)
	return append(all, listNamed("backend", from.Clusters, to.Clusters)...)
}

// listNamed says what is new, other or gone of a list.
func listNamed(what string, from, to []envoy.Packed) (all []string) {
	changed, removed := compare(from, to)
	was := byName(from)
	for _, packed := range changed {
		if _, known := was[packed.Name]; !known {
			all = append(all, what+" "+packed.Name+" is new")
		} else {
			all = append(all, what+" "+packed.Name+" is another")
		}
	}
	for _, name := range removed {
		all = append(all, what+" "+name+" goes")
	}
	slices.Sort(all)
	return all
}

// listHostChanges says which hosts' requests are answered otherwise.
func listHostChanges(from, to []envoy.Packed) (all []string) {
	before, now := byName(from), byName(to)
	for _, packed := range to {
		if was := before[packed.Name].Content; !bytes.Equal(was, packed.Content) {
			all = append(all, compareHosts(packed.Name, was, packed.Content)...)
		}
	}
	for _, packed := range from {
		if _, stays := now[packed.Name]; !stays {
			all = append(all, compareHosts(packed.Name, packed.Content, nil)...)
		}
	}
	return all
}

// compareHosts says what is different of the hosts of two route configurations, which may be nil for none.
func compareHosts(listener string, from, to []byte) (all []string) {
	was := map[string]*routev3.VirtualHost{}
	for _, h := range readHosts(from) {
		was[nameOf(h)] = h
	}
	for _, h := range readHosts(to) {
		name := nameOf(h)
		before := was[name]
		delete(was, name)
		switch {
		case before == nil:
			all = append(all, "host "+name+" of "+listener+" is new")
		case !proto.Equal(before, h):
			all = append(all, "host "+name+" of "+listener+" is answered otherwise")
		}
	}
	for name := range was {
		all = append(all, "host "+name+" of "+listener+" goes")
	}
	slices.Sort(all)
	return all
}

// readHosts reads the virtual hosts that are there for what requests say: not those that answer what no route is for.
func readHosts(routes []byte) []*routev3.VirtualHost {
	config := &routev3.RouteConfiguration{}
	if proto.Unmarshal(routes, config) != nil {
		return nil
	}
	return slices.DeleteFunc(config.GetVirtualHosts(), func(h *routev3.VirtualHost) bool { return len(h.GetRoutes()) == 0 })
}

// nameOf is what people call a virtual host: the first of its hosts.
func nameOf(h *routev3.VirtualHost) string {
	return cmp.Or(strings.Join(h.GetDomains()[:min(1, len(h.GetDomains()))], ""), h.GetName())
}
