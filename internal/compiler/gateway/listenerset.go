package gateway

import (
	"container/heap"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// setKey keeps ListenerSets apart from Gateways of the same names.
func setKey(key string) string { return "listenerset " + key }

// waitingSet is a ListenerSet whose Gateway has its own listeners.
type waitingSet struct {
	*resource.ListenerSet
	of        *Status
	status    *SetStatus
	addresses []netip.Addr
	settings  ownerSettings
}

// waitingSets is a heap of them, the first one at the top.
type waitingSets struct {
	order *seniority.Order
	sets  []waitingSet
}

func (w *waitingSets) Len() int { return len(w.sets) }
func (w *waitingSets) Less(i, j int) bool {
	return w.order.Compare(w.sets[i].Origin(), w.sets[j].Origin()) < 0
}
func (w *waitingSets) Swap(i, j int) { w.sets[i], w.sets[j] = w.sets[j], w.sets[i] }
func (w *waitingSets) Push(set any)  { w.sets = append(w.sets, set.(waitingSet)) }

func (w *waitingSets) Pop() any {
	last := len(w.sets) - 1
	set := w.sets[last]
	w.sets = w.sets[:last]
	return set
}

// awaitSets has the ListenerSets of the Gateway that was added last wait for their turn.
func (b *builder) awaitSets(addresses []netip.Addr, settings ownerSettings) {
	of := b.status.lastGateway()
	for _, set := range b.sets[of.Gateway.Key()] {
		s := &SetStatus{Set: set}
		of.Sets = append(of.Sets, s)
		heap.Push(&b.waiting, waitingSet{set, of, s, addresses, settings})
	}
}

// addWaitingSets adds the listeners of the sets that go before a Gateway; of all for nil. So a young set takes nothing
// from a Gateway that shares the port of the set's own, old one. Of two listeners that conflict the first holds,
// whoever wrote the other.
func (b *builder) addWaitingSets(before *resource.Object[gatewayv1.Gateway]) {
	for len(b.waiting.sets) > 0 && (before == nil || b.order.Compare(b.waiting.sets[0].Origin(), before.Origin()) < 0) {
		b.addSet(heap.Pop(&b.waiting).(waitingSet))
	}
}

// addSet adds the listeners of a ListenerSet.
func (b *builder) addSet(set waitingSet) {
	s, key := set.status, setKey(set.Key())
	s.Refused = b.refuseSet(set.of, set.ListenerSet)
	b.listeners[key] = nil
	if s.Refused != "" {
		return
	}
	for i, entry := range set.Value.Spec.Listeners {
		spec := resource.EntryListener(entry)
		l := newListener(set.of.Gateway, &spec, i)
		l.set, l.ownerSettings = set.ListenerSet, set.settings
		b.listeners[key] = append(b.listeners[key], l)
		s.listeners = append(s.listeners, l)
		b.checkKinds(l)
		if l.refused = b.refuseListener(l); l.refused != "" {
			continue
		}
		l.certificates = b.resolveCertificates(l)
		for _, a := range set.addresses {
			b.listen(l, netip.AddrPortFrom(a, uint16(spec.Port)))
		}
	}
}

// refuseSet reports why a Gateway takes no listener from a ListenerSet, and gives the reason; empty if it may take
// some.
func (b *builder) refuseSet(of *Status, set *resource.ListenerSet) gatewayv1.ListenerSetConditionReason {
	why := gatewayv1.ListenerSetConditionReason("")
	for _, f := range set.FaultsOutside(report.Listeners) {
		why = gatewayv1.ListenerSetReasonInvalid
		b.rep.ErrorForAt(report.ListenerSetRefused, set, string(why), f.Path, f.Message+": the ListenerSet is left out")
	}
	path := field.NewPath("spec", "parentRef")
	switch {
	case why != "":
	case !b.objects.AllowsSet(of.Gateway, set):
		why = gatewayv1.ListenerSetReasonNotAllowed
		b.rep.WarnFor(report.ListenerSetRefused, set, string(why), field.Forbidden(path, fmt.Sprintf(
			"%s allows no ListenerSets of namespace %s (its spec.allowedListeners): the ListenerSet is left out",
			of.Gateway,
			set.Namespace,
		)))
	case of.Refused != "":
		why = gatewayv1.ListenerSetReasonParentNotAccepted
		b.rep.WarnFor(report.ListenerSetRefused, set, string(why), field.Invalid(path, set.Value.Spec.ParentRef.Name,
			"its Gateway is not accepted: the ListenerSet is left out"))
	}
	return why
}

// checkStraySets tells of ListenerSets whose parent is not in the input, or no Gateway.
func (b *builder) checkStraySets() {
	for _, set := range b.objects.ListenerSets {
		path, ref := field.NewPath("spec", "parentRef"), set.Value.Spec.ParentRef
		key := resource.GatewayOf(set)
		switch _, known := b.listeners[key]; {
		case key == "":
			b.rep.Advise(report.OtherParent, set, path.Child("kind"),
				"limpet serves Gateways: a ListenerSet for another parent is left to those who serve that")
		case !known:
			namespace := set.Namespace
			if ref.Namespace != nil {
				namespace = string(*ref.Namespace)
			}
			gateway := object.Ref{Kind: object.KindGateway, Namespace: namespace, Name: string(ref.Name)}
			b.rep.Warn(report.ListenerSetRefused, set, newNotFoundError(path.Child("name"), ref.Name,
				b.objects.Absence(gateway)+": the ListenerSet is left out"))
			b.listeners[setKey(set.Key())] = nil
		}
	}
}
