package envoy

import (
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
)

// TestWithStory holds that a Gateway's listeners get its own log and traces, and that nothing else changes.
func TestWithStory(t *testing.T) {
	e := &emitter{}
	newListener := func(logged bool) Packed {
		manager := &hcmv3.HttpConnectionManager{
			StatPrefix: "web", HttpFilters: []*hcmv3.HttpFilter{e.newRouter()},
			RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: "web"}},
		}
		if logged {
			manager.AccessLog = e.newLog(map[string]any{"session": "own"})
		}
		return e.packResource("web", &listenerv3.Listener{
			Name: "web", FilterChains: e.newFilterChains(manager), DefaultFilterChain: e.newFilterChains(manager)[0],
		})
	}
	yes, no := true, false
	for name, c := range map[string]struct {
		logged                bool
		story                 Story
		log, tracing, changes bool
	}{
		"nothing":        {logged: true, log: true},
		"no log":         {logged: true, story: Story{AccessLog: &no}, changes: true},
		"a log":          {story: Story{AccessLog: &yes}, log: true, changes: true},
		"the log of all": {logged: true, story: Story{AccessLog: &yes}, log: true},
		"traces":         {story: Story{Tracing: true, SamplingPercent: 5}, tracing: true, changes: true},
	} {
		d := &Served{Gateway: "shop/edge", Listeners: []Packed{newListener(c.logged)}, Clusters: []Packed{{Name: "c"}}}
		before := string(d.Listeners[0].Content)
		told, err := d.WithStory(c.story)
		if err != nil || e.err != nil {
			t.Fatal(err, e.err)
		}
		if string(d.Listeners[0].Content) != before || len(told.Clusters) != 1 {
			t.Errorf("%s: more than the story changes", name)
		}
		if changes := string(told.Listeners[0].Content) != before; changes != c.changes {
			t.Errorf("%s: the listener changes: %v", name, changes)
		}
		l := &listenerv3.Listener{}
		if err := proto.Unmarshal(told.Listeners[0].Content, l); err != nil {
			t.Fatal(err)
		}
		for _, chain := range append(l.GetFilterChains(), l.GetDefaultFilterChain()) {
			manager := &hcmv3.HttpConnectionManager{}
			if err := chain.GetFilters()[0].GetTypedConfig().UnmarshalTo(manager); err != nil {
				t.Fatal(err)
			}
			if (len(manager.GetAccessLog()) == 1) != c.log || (manager.GetTracing() != nil) != c.tracing {
				t.Errorf("%s: %d logs, tracing %v", name, len(manager.GetAccessLog()), manager.GetTracing())
			}
			if c.tracing && (manager.GetTracing().GetRandomSampling().GetValue() != 5 || manager.ValidateAll() != nil) {
				t.Errorf("%s: %v, %v", name, manager.GetTracing(), manager.ValidateAll())
			}
		}
	}
}
