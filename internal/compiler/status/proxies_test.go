package status

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestProxies: a Gateway's conditions say how the proxies do that are run for it.
func TestProxies(t *testing.T) {
	for name, c := range map[string]struct {
		proxies Proxies
		message string // of Accepted before
		want    string
	}{
		"they serve":          {Proxies{}, "", "Accepted=True/Accepted: \nProgrammed=True/Programmed: \n"},
		"none is ready":       {Proxies{Reason: "NoResources", Message: "no"}, "", "Accepted=True/Accepted: \nProgrammed=False/NoResources: no\n"},
		"no good parameters":  {Proxies{Invalid: "no"}, "", "Accepted=False/InvalidParameters: no\nProgrammed=True/Programmed: \n"},
		"labels are left out": {Proxies{LeftOut: "labels"}, "", "Accepted=True/Accepted: labels\nProgrammed=True/Programmed: \n"},
		"and more":            {Proxies{LeftOut: "labels"}, "listeners", "Accepted=True/Accepted: listeners; labels\nProgrammed=True/Programmed: \n"},
	} {
		g := &gateway.Status{Gateway: &resource.Object[gatewayv1.Gateway]{Namespace: "shop", Name: "edge"}}
		b := &builder{Input: Input{Proxies: map[string]Proxies{"shop/edge": c.proxies}}}
		got := ""
		for _, is := range b.noteProxies(g, &gatewayv1.GatewayStatus{}, []metav1.Condition{
			newCondition(gatewayv1.GatewayConditionAccepted, true, gatewayv1.GatewayReasonAccepted, c.message),
			newCondition(gatewayv1.GatewayConditionProgrammed, true, gatewayv1.GatewayReasonProgrammed, ""),
		}) {
			got += fmt.Sprintf("%s=%s/%s: %s\n", is.Type, is.Status, is.Reason, is.Message)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
