package envoy

import (
	"bytes"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// world is a configuration and how it is written.
type world struct {
	config   ir.Config
	settings Settings
}

// newWorld has two virtual hosts on one port, one of them with sessions, a site with TLS, and two clusters.
func newWorld() *world {
	host := func(domain, cluster string) ir.Host {
		return ir.Host{Domain: domain, Routes: []ir.Route{{Name: domain + "/rule", Match: ir.Match{Path: "/"}, Cluster: cluster}}}
	}
	cluster := func(name, address string) ir.Cluster {
		endpoints := []ir.Endpoint{{Address: netip.MustParseAddrPort(address)}}
		return ir.Cluster{Name: name, Localities: []ir.Locality{{Name: name, Endpoints: endpoints}}}
	}
	any4 := netip.MustParseAddr("0.0.0.0")
	w := &world{}
	w.settings = Settings{ModulePath: "w", Plugin: policyconfig.DefaultConfig(), PluginJSON: []byte(`{"a": "<b>"}`)}
	w.settings.Plugin.Policies = []policyconfig.Policy{{Name: "p"}}
	w.config.Listeners = []ir.Listener{
		{Address: any4, Port: 80, Hosts: []ir.Host{host("a.example.com", "a"), host("b.example.com", "b")}},
		{Address: any4, Port: 443, TLSHosts: []ir.TLSHost{{Domain: "a.example.com", Hosts: []ir.Host{host("a.example.com", "a")}}}},
		{Address: any4, Port: 81},
	}
	w.config.Listeners[0].Hosts[0].Routes[0].Sticky = true
	w.config.Listeners[0].Hosts[0].Routes[0].FailStatus = 503
	w.config.Clusters = []ir.Cluster{cluster("a", "10.0.0.1:8080"), cluster("b", "10.0.0.2:8080")}
	return w
}

// TestRender writes configurations that differ from newWorld in one thing, and the virtual hosts with what was kept: they
// are what is written without.
func TestRender(t *testing.T) {
	edits := []struct {
		name string
		edit func(*world)
	}{
		{"a route's path", func(w *world) { w.config.Listeners[0].Hosts[1].Routes[0].Match.Path = "/cart" }},
		{"a route of a site with TLS", func(w *world) { w.config.Listeners[1].TLSHosts[0].Hosts[0].Routes[0].Match.Path = "/cart" }},
		{"a host less", func(w *world) { w.config.Listeners[0].Hosts = w.config.Listeners[0].Hosts[:1] }},
		{"an endpoint", func(w *world) { w.config.Clusters[0].Localities[0].Endpoints[0].Draining = true }},
		{"a cluster's protocol", func(w *world) { w.config.Clusters[0].HTTP2 = true }},
		{"a cluster less", func(w *world) { w.config.Clusters = w.config.Clusters[1:] }},
		{"no clusters", func(w *world) { w.config.Clusters = nil }},
		{"the pin header", func(w *world) { w.settings.Plugin.PinHeader = "x-other" }},
		{"the plugin's configuration", func(w *world) { w.settings.PluginJSON = []byte("{}") }},
		{"a long configuration, which is written once", func(w *world) { w.settings.PluginJSON = []byte(strings.Repeat("a ", 5000) + "b") }},
	}
	kept := NewHostTexts()
	base := writeWorld(t, newWorld())
	for _, e := range edits {
		w := newWorld()
		e.edit(w)
		for _, w := range []*world{newWorld(), w} {
			if !reflect.DeepEqual(writeHosts(t, kept, w), writeHosts(t, nil, w)) {
				t.Errorf("%s: what is written depends on what was kept", e.name)
			}
		}
		if reflect.DeepEqual(writeWorld(t, w), base) {
			t.Errorf("%s: nothing depends on it", e.name)
		}
		kept.Sweep()
	}
}

// writeHosts writes the virtual hosts of a world.
func writeHosts(t *testing.T, kept HostTexts, w *world) (all []HostText) {
	t.Helper()
	for _, l := range w.config.Listeners {
		for _, s := range ListSites(l) {
			texts, err := Assembly{Settings: w.settings}.RenderHosts(kept, s)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, texts...)
		}
	}
	return all
}

// written is all that is written of a world.
type written struct {
	bootstrap []byte
	served    []*Served
}

func writeWorld(t *testing.T, w *world) written {
	t.Helper()
	bootstrap, err := Emit(&w.config, w.settings)
	if err != nil {
		t.Fatal(err)
	}
	served, err := w.serve()
	if err != nil {
		t.Fatal(err)
	}
	texts := [][]byte{bootstrap, served[0].Filter[0].Content}
	for _, routes := range served[0].Routes {
		texts = append(texts, routes.Content)
	}
	if bytes.Contains(bytes.Join(texts, nil), []byte(placeholder)) {
		t.Error("a placeholder is left")
	}
	return written{bootstrap, served}
}

func (w *world) serve() ([]*Served, error) {
	return Serve(w.config.Clusters, w.settings, []GatewayConfig{{Config: &w.config}})
}

// TestItemFaults shows that the fault of one item is that of the whole.
func TestItemFaults(t *testing.T) {
	w := newWorld()
	w.config.Clusters[1].Name = "\xff"
	if _, err := Emit(&w.config, w.settings); err == nil {
		t.Error("no error of the bootstrap")
	}
	if _, err := w.serve(); err == nil {
		t.Error("no error of the discovered clusters")
	}
}
