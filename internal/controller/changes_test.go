package controller

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// pack makes resources of names and contents, in turn.
func pack(words ...string) (all []*envoy.Packed) {
	for i := 0; i < len(words); i += 2 {
		all = append(all, &envoy.Packed{Name: words[i], Content: []byte(words[i+1])})
	}
	return all
}

func packList(words ...string) envoy.PackedList { return envoy.NewPackedList(pack(words...)) }

// TestDescribeChanges: a change is said in people's names, once: endpoints and routes come and go with their clusters and listeners.
func TestDescribeChanges(t *testing.T) {
	const cart, keep = "service/default/cart/80", "service/default/cart/80/keep-3s"
	for want, c := range map[string][2]*envoy.Served{
		nothingDifferent:                    {{Clusters: packList(cart, "a")}, {Clusters: packList(cart, "a")}},
		"backend default/cart:80":           {{Clusters: packList(cart, "a")}, {Clusters: packList(cart, "b")}},
		"new backend default/cart:80":       {{}, {Clusters: packList(cart, "a"), Endpoints: packList(cart, "a")}},
		"backend default/cart:80 gone":      {{Clusters: packList(cart, "a"), Endpoints: packList(cart, "a")}, {}},
		"endpoints of default/cart:80":      {{Endpoints: packList(cart, "a")}, {Endpoints: packList(cart, "b")}},
		"endpoints or weights of cart-rule": {{Endpoints: packList("cart-rule", "a")}, {Endpoints: packList("cart-rule", "b")}},
		"keys, new certificate/shop":        {{PluginJSON: []byte("a")}, {PluginJSON: []byte("b"), Secrets: pack("certificate/shop", "a")}},
		"listener edge, routes of edge":     {{Listeners: pack("edge", "a"), Routes: pack("edge", "a")}, {Listeners: pack("edge", "b"), Routes: pack("edge", "b")}},
		"new listener edge":                 {{}, {Listeners: pack("edge", "a"), Routes: pack("edge", "a")}},
		"endpoints of default/cart:80 (keep-3s), new a, new b, new c and 2 more": {
			{Endpoints: packList(keep, "a")}, {Endpoints: packList(keep, "b"), Secrets: pack("a", "", "b", "", "c", "", "d", "", "e", "")},
		},
	} {
		if got := describeChanges(c[0], c[1]); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
