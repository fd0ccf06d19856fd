package envoygateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	limpetschema "github.com/limpet-proxy/limpet/internal/compiler/resource"
)

type (
	gatewayObject  = limpetschema.Object[gatewayv1.Gateway]
	platformObject = limpetschema.Object[limpetschema.Platform]
)

// gateways are those with sessions behind them, in order.
func (e *emitter) gateways() []*gatewayObject {
	var all []*gatewayObject
	for _, g := range e.Objects.Gateways {
		if slices.ContainsFunc(e.rules, func(r *rule) bool { return r.on(g) }) {
			all = append(all, g)
		}
	}
	return all
}

// on reports whether the rule has sessions on a Gateway.
func (r *rule) on(g *gatewayObject) bool {
	for _, p := range r.placed {
		if p.Listener.Gateway() == g && hasSessions(p) {
			return true
		}
	}
	return false
}

// fence takes the internal header out of what clients send, before anything else sees it, and out of what they get,
// after everything else: without it a client chooses its host. It is on all routes of a Gateway. A policy of the user's
// for the same Gateway gets it too, for Envoy Gateway takes one, and that for a listener goes before that for all.
func (e *emitter) fence() {
	for _, g := range e.gateways() {
		whole := false
		for _, p := range e.platform(kindClient) {
			doc := edit(e, p)
			aims, all := aimsAt(p, doc, g)
			if !aims {
				continue
			}
			whole = whole || all
			e.fenceIn(child(doc, "spec"))
			if !e.has(doc) {
				e.add(doc)
			}
		}
		if whole {
			continue
		}
		spec := object{"targetRefs": []any{targetRef("Gateway", g.Name)}}
		e.fenceIn(spec)
		e.add(created(kindClient, g.Namespace, "limpet-"+g.Name, spec))
	}
}

// fenceIn adds the fence to a policy's spec.
func (e *emitter) fenceIn(spec object) {
	for _, field := range []string{"earlyRequestHeaders", "lateResponseHeaders"} {
		headers := child(spec, "headers", field)
		removed, _ := headers["remove"].([]any)
		if !slices.Contains(removed, any(e.PinHeader)) {
			extend(headers, "remove", e.PinHeader)
		}
	}
}

// aimsAt tells whether a policy may hold for a Gateway, and whether for all of it. A policy that selects its targets by
// labels is taken for one that does.
func aimsAt(p *platformObject, doc object, g *gatewayObject) (aims, whole bool) {
	if p.Namespace != g.Namespace {
		return false, false
	}
	spec := child(doc, "spec")
	refs := objects(spec, "targetRefs")
	if one, is := spec["targetRef"].(object); is {
		refs = append(refs, one)
	}
	for _, ref := range refs {
		if text(ref, "kind") == "Gateway" && text(ref, "name") == g.Name {
			aims, whole = true, whole || text(ref, "sectionName") == ""
		}
	}
	selects := len(objects(spec, "targetSelectors")) > 0
	return aims || selects, whole || selects
}

func targetRef(kind, name string) object {
	return object{"group": gatewayv1.GroupName, "kind": kind, "name": name}
}
