package precedence

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// TestIndexOn holds that each block on the path is found once, though an unnamed rule is no section of its route and a
// rule may have one Service twice.
func TestIndexOn(t *testing.T) {
	index := Index{}
	trafficPath := parseTrafficPath(t, "route=HTTPRoute/shop/cart backends=Service/shop/cart,Service/shop/cart")
	for _, target := range trafficPath.Targets() {
		index[target] = nil
	}
	for target := range index {
		index.Add(target, []SettingsBlock{{Target: target, Path: target.String()}})
	}
	elsewhere := object.TargetRef{Ref: object.Ref{Kind: object.KindService, Namespace: "shop", Name: "other"}, Section: ""}
	index.Add(elsewhere, []SettingsBlock{{Target: elsewhere, Path: "elsewhere"}})
	seen := map[string]int{}
	for _, b := range index.BlocksOn(trafficPath) {
		seen[b.Path]++
	}
	if len(seen) != 6 || seen["elsewhere"] != 0 {
		t.Errorf("found %v", seen)
	}
	for path, n := range seen {
		if n != 1 {
			t.Errorf("%s: %d times", path, n)
		}
	}
}
