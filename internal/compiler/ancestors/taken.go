package ancestors

import (
	"cmp"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// CountTaken counts the ancestors in a policy's status besides the Gateways on which it has an effect: other
// controllers', targets on which it has none, and GatewayClasses. Policies without any are not in it.
func CountTaken(in Input) map[object.Ref]int {
	taken, controller := map[object.Ref]int{}, string(in.Objects.ControllerName())
	countForeign(controller, in.Objects.SessionPolicies, taken)
	countForeign(controller, in.Objects.TrafficPolicies, taken)
	countForeign(controller, in.Objects.LoadBalancers, taken)
	for a := range in.Attachments {
		if a.isOwnAncestor() {
			taken[a.Policy]++
		}
	}
	return taken
}

// countForeign counts the ancestors that other controllers have written into the policies' status, whatever else it
// holds.
func countForeign[T any](controller string, policies []*resource.Object[T], taken map[object.Ref]int) {
	for _, p := range policies {
		fields, _ := p.Status.(map[string]any)
		list, _ := fields["ancestors"].([]any)
		for _, a := range list {
			entry, _ := a.(map[string]any)
			if name, is := entry["controllerName"].(string); is && name != controller {
				taken[p.Ref()]++
			}
		}
	}
}

// ListPolicies gives the policies of all kinds.
func ListPolicies(objects *resource.Objects) map[object.Ref]report.Subject {
	all := map[object.Ref]report.Subject{}
	addPolicies(all, objects.SessionPolicies)
	addPolicies(all, objects.TrafficPolicies)
	addPolicies(all, objects.LoadBalancers)
	return all
}

func addPolicies[T any](all map[object.Ref]report.Subject, policies []*resource.Object[T]) {
	for _, p := range policies {
		all[p.Ref()] = p
	}
}

func compareRefs(a, b object.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
