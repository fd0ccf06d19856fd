package gateway

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// setKey keeps ListenerSets apart from Gateways of the same names.
func setKey(key string) string { return "listenerset " + key }

// addSets adds the listeners of a Gateway's ListenerSets after its own, those of older sets first. Of two that conflict the
// first holds, whoever wrote the other.
func (b *builder) addSets(g *resource.Object[gatewayv1.Gateway], addresses []netip.Addr, settings ownerSettings) {
	status := b.status.lastGateway()
	for _, set := range b.objects.SetsOf(g) {
		s := &SetStatus{Set: set, Refused: b.refuseSet(g, set)}
		status.Sets = append(status.Sets, s)
		key := setKey(set.Key())
		b.listeners[key] = nil
		if s.Refused != "" {
			continue
		}
		for i, entry := range set.Value.Spec.Listeners {
			spec := resource.EntryListener(entry)
			l := newListener(g, &spec, i)
			l.set, l.ownerSettings = set, settings
			b.listeners[key] = append(b.listeners[key], l)
			s.listeners = append(s.listeners, l)
			b.checkKinds(l)
			if l.refused = b.refuseListener(l); l.refused != "" {
				continue
			}
			l.certificates = b.resolveCertificates(l)
			for _, a := range addresses {
				b.listen(l, netip.AddrPortFrom(a, uint16(spec.Port)))
			}
		}
	}
}

// refuseSet reports why a Gateway takes no listener from a ListenerSet, and gives the reason; empty if it may take some.
func (b *builder) refuseSet(g *resource.Object[gatewayv1.Gateway], set *resource.ListenerSet) gatewayv1.ListenerSetConditionReason {
	why := gatewayv1.ListenerSetConditionReason("")
	for _, f := range set.FaultsOutside(listenersPath) {
		why = gatewayv1.ListenerSetReasonInvalid
		b.rep.ErrorForAt(set, string(why), f.Path, f.Message+": the ListenerSet is left out")
	}
	path := field.NewPath("spec", "parentRef")
	switch {
	case why != "":
	case !b.objects.AllowsSet(g, set):
		why = gatewayv1.ListenerSetReasonNotAllowed
		b.rep.WarnFor(set, string(why), field.Forbidden(path, fmt.Sprintf(
			"%s allows no ListenerSets of namespace %s (its spec.allowedListeners): the ListenerSet is left out", g, set.Namespace)))
	case b.status.lastGateway().Refused != "":
		why = gatewayv1.ListenerSetReasonParentNotAccepted
		b.rep.WarnFor(set, string(why), field.Invalid(path, set.Value.Spec.ParentRef.Name,
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
			b.rep.Advise(set, path.Child("kind"), "limpet serves Gateways: a ListenerSet for another parent is left to those who serve that")
		case !known:
			namespace := set.Namespace
			if ref.Namespace != nil {
				namespace = string(*ref.Namespace)
			}
			gateway := object.Ref{Kind: object.KindGateway, Namespace: namespace, Name: string(ref.Name)}
			b.rep.Warn(set, newNotFoundError(path.Child("name"), ref.Name, b.objects.Absence(gateway)+": the ListenerSet is left out"))
			b.listeners[setKey(set.Key())] = nil
		}
	}
}
