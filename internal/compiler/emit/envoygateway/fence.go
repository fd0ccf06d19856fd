package envoygateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// listGateways are those with sessions behind them, in order.
func (e *emitter) listGateways() []*ir.Gateway {
	return slices.DeleteFunc(slices.Clone(e.plan.Gateways), func(g *ir.Gateway) bool {
		return !slices.ContainsFunc(e.rules, func(r *sessionRule) bool { return r.isOn(g) })
	})
}

// isOn reports whether the rule has sessions on a Gateway.
func (r *sessionRule) isOn(g *ir.Gateway) bool {
	return slices.ContainsFunc(r.attached, func(a *ir.AttachedRule) bool {
		return a.Listener.Gateway == g && a.Sessions.On()
	})
}

// leadsOn reports whether requests on a Gateway are led to backends.
func (e *emitter) leadsOn(g *ir.Gateway) bool {
	return slices.ContainsFunc(e.rules, func(r *sessionRule) bool { return r.copies != nil && r.isOn(g) })
}

// writeFences takes the internal headers out of what clients send, before anything else sees them and the route is
// chosen, and out of what they get, after everything else: without it a client chooses its host, or its backend. It is
// on all routes of a Gateway. A policy of the user's for the same Gateway gets it too, for Envoy Gateway takes one, and
// that for a listener goes before that for all.
func (e *emitter) writeFences() {
	for _, g := range e.listGateways() {
		if e.options.isNative() && !e.leadsOn(g) {
			continue
		}
		whole := false
		for _, p := range e.plan.Objects[kindClient] {
			if e.isReplaced(p, "limpet-"+g.Name) {
				continue
			}
			doc := e.editDocument(p)
			aims, all := targetsGateway(p, doc, g)
			if !aims {
				continue
			}
			doc = e.extendDocument(p, g)
			whole = whole || all
			e.addFence(childObject(doc, "spec"))
			if !e.hasDocument(doc) {
				e.addDocument(doc)
			}
		}
		if whole {
			continue
		}
		spec := jsonObject{"targetRefs": []any{newTargetRef("Gateway", g.Name)}}
		e.addFence(spec)
		e.addDocument(e.newDocument(kindClient, g.Ref, "limpet-"+g.Name, spec))
	}
}

// addFence adds the fence to a policy's spec.
func (e *emitter) addFence(spec jsonObject) {
	for _, header := range e.listHidden(true) {
		fence(spec, "earlyRequestHeaders", header)
	}
	if !e.options.isNative() {
		fence(spec, "lateResponseHeaders", pinHeader)
	}
}

func fence(spec jsonObject, field, header string) {
	headers := childObject(spec, "headers", field)
	if removed, _ := headers["remove"].([]any); !slices.Contains(removed, any(header)) {
		appendEntry(headers, "remove", header)
	}
}

// targetsGateway tells whether a policy may hold for a Gateway, and whether for all of it. A policy that selects its
// targets by labels is taken for one that does.
func targetsGateway(p *ir.Object, doc jsonObject, g *ir.Gateway) (aims, whole bool) {
	if p.Namespace != g.Namespace {
		return false, false
	}
	spec := childObject(doc, "spec")
	for _, ref := range listTargets(spec) {
		if stringField(ref, "kind") == "Gateway" && stringField(ref, "name") == g.Name {
			aims, whole = true, whole || stringField(ref, "sectionName") == ""
		}
	}
	selects := len(listObjects(spec, "targetSelectors")) > 0
	return aims || selects, whole || selects
}

// newTargetRef is a reference to an object of Gateway API.
func newTargetRef(kind, name string) jsonObject {
	return jsonObject{"group": gatewayv1.GroupName, "kind": kind, "name": name}
}
