package grant

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestAllow goes through the parts of a grant: kind and namespace of what refers, kind and name of what is referred to.
func TestAllow(t *testing.T) {
	shop := gatewayv1.ObjectName("shop")
	one := &resource.Object[gatewayv1.ReferenceGrant]{Namespace: "keys", Name: "g", Value: &gatewayv1.ReferenceGrant{Spec: gatewayv1.ReferenceGrantSpec{
		From: []gatewayv1.ReferenceGrantFrom{
			{Group: gatewayv1.GroupName, Kind: "Gateway", Namespace: "infra"}, {Group: "example.com", Kind: "HTTPRoute", Namespace: "infra"},
		},
		To: []gatewayv1.ReferenceGrantTo{{Kind: "Secret", Name: &shop}, {Kind: "Service"}, {Group: "example.com", Kind: "Secret"}},
	}}}
	grants := New(&resource.Objects{Grants: []*resource.Object[gatewayv1.ReferenceGrant]{one}})
	for _, c := range []struct {
		from From
		to   To
		want bool
	}{
		{From{"Gateway", "infra"}, To{"Secret", "keys", "shop"}, true},
		{From{"Gateway", "infra"}, To{"Service", "keys", "any"}, true},
		{From{"Gateway", "keys"}, To{"Secret", "keys", "any"}, true}, // its own namespace
		{From{"Gateway", "infra"}, To{"Secret", "keys", "any"}, false},
		{From{"Gateway", "infra"}, To{"Secret", "other", "shop"}, false},
		{From{"Gateway", "other"}, To{"Secret", "keys", "shop"}, false},
		{From{"HTTPRoute", "infra"}, To{"Secret", "keys", "shop"}, false},
		{From{"Gateway", "infra"}, To{"ConfigMap", "keys", "shop"}, false},
	} {
		if got := grants.Allow(c.from, c.to); got != c.want {
			t.Errorf("%v to %v: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
