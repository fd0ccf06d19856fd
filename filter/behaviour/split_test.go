package behaviour

import (
	"fmt"
	"testing"
)

// TestSplitOverLocalities: the localities of one cluster get new clients by weight, and sessions stay where they began.
func TestSplitOverLocalities(t *testing.T) {
	h := newHandwritten(t)
	locality := func(zone, host string, weight int) object {
		return object{
			"locality": object{"sub_zone": zone}, "load_balancing_weight": weight,
			"lb_endpoints": []any{object{"endpoint": object{"address": tcp(host)}}},
		}
	}
	h.clusters = append(h.clusters, object{
		"name": "split", "common_lb_config": object{"locality_weighted_lb_config": object{}},
		"load_assignment": object{"cluster_name": "split", "endpoints": []any{locality("v1", h.up[0], 90), locality("v2", h.up[1], 10)}},
	})
	h.listenBoth(t, "split", configs(policy("split", "r", `"cookie":{"secure":false}`)), routeTo("r", to("split")))
	h.serveAll(t)
	for _, listener := range []string{"wasm/split", "native/split"} {
		t.Run(listener, func(t *testing.T) {
			cookies, clients := map[string]string{}, map[string]int{}
			for range 200 {
				a := h.request(t, listener)
				cookies[a.backend()] = a.cookie()
				clients[a.backend()]++
			}
			if first := clients[h.up[0]]; first < 150 || first > 195 {
				t.Errorf("of 200 new clients %d went to the version with weight 90", first)
			}
			for home, cookie := range cookies {
				for range 10 {
					want(t, "the backend", h.request(t, listener, "cookie: "+cookie).backend(), home)
				}
			}
			want(t, "moved", h.counter(listener, "limpet_sessions.policy.split.outcome.moved"), 0)
		})
	}
}

// TestSplitOverClusters: with a policy for each cluster a client has a session in each, and comes back to its host there.
func TestSplitOverClusters(t *testing.T) {
	h := newHandwritten(t)
	h.cluster("pair", tcp(h.up[1]), tcp(h.serve(t, "tcp", "127.0.0.1:0")))
	in := func(cluster, cookie string) string {
		return policy(cookie, "r", fmt.Sprintf(`"clusters":[%q]`, cluster), fmt.Sprintf(`"sessionName":%q`, cookie), `"cookie":{"secure":false}`)
	}
	h.listenBoth(t, "clusters", configs(in("first", "s1"), in("pair", "s2")), routeTo("r", object{"weighted_clusters": object{"clusters": []any{
		object{"name": "first", "weight": 50}, object{"name": "pair", "weight": 50},
	}}}))
	h.serveAll(t)
	for _, listener := range []string{"wasm/clusters", "native/clusters"} {
		t.Run(listener, func(t *testing.T) {
			cookies, homes := map[string]string{}, map[string]string{}
			for range 60 {
				a := h.request(t, listener, "cookie: "+cookies["s1"]+"; "+cookies["s2"])
				name := "s2"
				if a.backend() == h.up[0] {
					name = "s1"
				}
				if home := homes[name]; home != "" {
					want(t, "the backend in the cluster of "+name, a.backend(), home)
				}
				homes[name] = a.backend()
				if a.cookie() != "" {
					cookies[name] = a.cookie()
				}
			}
			want(t, "clusters", len(homes), 2)
		})
	}
}
