package compiler

import (
	"maps"
	"slices"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/follow"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// mirror is what someone knows of a configuration who is told of its changed parts and of new problems alone.
type mirror struct {
	parts map[partKey]string
	said  map[report.Said]bool
}

// partKey names a part.
type partKey struct {
	Kind       follow.Kind
	Site, Name string
}

// newMirror takes a whole result apart.
func newMirror(t *testing.T, r *Result) *mirror {
	t.Helper()
	m := &mirror{parts: map[partKey]string{}, said: map[report.Said]bool{}}
	if d := r.Discovery; d != nil {
		for _, routes := range d.Routes {
			m.addRoutes(t, routes)
		}
		for _, c := range d.Clusters {
			m.parts[partKey{Kind: follow.Cluster, Name: c.Name}] = string(c.Settings)
			m.parts[partKey{Kind: follow.Endpoints, Name: c.Name}] = string(c.Endpoints)
		}
	}
	for _, p := range r.Warnings {
		m.said[sayingOf(p)] = true
	}
	return m
}

// addRoutes takes the virtual hosts of a site.
func (m *mirror) addRoutes(t *testing.T, routes envoy.Routes) {
	t.Helper()
	config := &routev3.RouteConfiguration{}
	if err := proto.Unmarshal(routes.Content, config); err != nil {
		t.Fatal(err)
	}
	for _, host := range config.GetVirtualHosts() {
		content, err := proto.MarshalOptions{Deterministic: true}.Marshal(host)
		if err != nil {
			t.Fatal(err)
		}
		m.parts[partKey{Kind: follow.VirtualHost, Site: routes.Name, Name: host.GetName()}] = string(content)
	}
}

// see applies an update to what is known, and compares that with what there is.
func (m *mirror) see(t *testing.T, name string, u *Update, r *Result) *mirror {
	t.Helper()
	now := newMirror(t, r)
	if m == nil {
		return now
	}
	for _, p := range u.NewWarnings {
		if said := sayingOf(p); m.said[said] || !now.said[said] {
			t.Errorf("%s: said to be new: %s", name, p)
		}
	}
	fresh := len(now.said)
	for said := range now.said {
		if m.said[said] {
			fresh--
		}
	}
	isSame := func(a, b Problem) bool { return sayingOf(a) == sayingOf(b) }
	if told := len(slices.CompactFunc(slices.Clone(u.NewWarnings), isSame)); told != fresh {
		t.Errorf("%s: told of %d new problems, not of %d: %v", name, told, fresh, u.NewWarnings)
	}
	if u.Whole || r.Discovery == nil { // a server asks for the whole, and finds out what of it is not the same value
		return now
	}
	for _, c := range u.Changed {
		key := partKey{c.Kind, c.Site, c.Name}
		switch {
		case c.Kind == follow.Listeners || c.Kind == follow.Policy:
		case m.parts[key] == string(c.Content):
			t.Errorf("%s: said to have changed: %s %s %s", name, c.Kind, c.Site, c.Name)
		case c.Content == nil:
			delete(m.parts, key)
		default:
			m.parts[key] = string(c.Content)
		}
	}
	if !maps.Equal(m.parts, now.parts) {
		for key, text := range now.parts {
			if m.parts[key] != text {
				t.Errorf("%s: not told of %s %s %s", name, key.Kind, key.Site, key.Name)
			}
		}
		for key := range m.parts {
			if _, is := now.parts[key]; !is {
				t.Errorf("%s: not told that %s %s %s is gone", name, key.Kind, key.Site, key.Name)
			}
		}
	}
	return now
}
