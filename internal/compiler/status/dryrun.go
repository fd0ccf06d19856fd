package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// DryRun is what is known of a Gateway whose objects are tried (docs/serve.md, "A dry run").
type DryRun struct {
	// Known says that it is known what its proxies are served. It is not if limpet began later than the dry run, or that is Unaffordable, for
	// others began before.
	Known, Unaffordable bool
	// Changes say what would change of that.
	Changes []string
}

// The reasons of [v1alpha1.ConditionDryRun].
const (
	reasonChanges   = "Changes"
	reasonNoChanges = "NoChanges"
	reasonNotKnown  = "NotKnown"
	reasonTooMany   = "TooMany"
)

// noteDryRun adds what is tried to a Gateway's conditions. It is not programmed while its proxies are served something else.
func (b *builder) noteDryRun(g *gateway.Status, conditions []metav1.Condition) []metav1.Condition {
	d, is := b.DryRuns[g.Gateway.Key()]
	if !is || !g.IsDryRun() {
		return conditions
	}
	tried := newCondition(v1alpha1.ConditionDryRun, false, reasonNoChanges, "a dry run: what its proxies are served is what the objects say")
	const keepAll = "the proxies keep all that they have, endpoints too, until the annotation " + v1alpha1.AnnotationDryRun + " goes"
	switch {
	case d.Unaffordable:
		tried.Status, tried.Reason = metav1.ConditionUnknown, reasonTooMany
		tried.Message = "one dry run too many: those of Gateways in one namespace may begin at two times, or together; " + keepAll
	case !d.Known:
		tried.Status, tried.Reason = metav1.ConditionUnknown, reasonNotKnown
		tried.Message = "a dry run that began before limpet did, which does not know what was served; " + keepAll
	case len(d.Changes) > 0:
		tried.Status, tried.Reason = metav1.ConditionTrue, reasonChanges
		tried.Message = "a dry run: nothing changes before the annotation " + v1alpha1.AnnotationDryRun + " goes, and then: " +
			joinLimited(d.Changes)
	default:
		return append(conditions, tried)
	}
	for i, c := range conditions {
		if c.Type == string(gatewayv1.GatewayConditionProgrammed) && c.Status == metav1.ConditionTrue {
			conditions[i] = newCondition(gatewayv1.GatewayConditionProgrammed, false, gatewayv1.GatewayReasonPending,
				"a dry run: its proxies go on with what they were served")
		}
	}
	return append(conditions, tried)
}
