package istio

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// One session over a split: the weights choose the backend of a new session, and its token leads it there from then on.
// For that the rule is there once more for each backend, with one match more: a header that the filter sets of requests
// with sessions. A copy carries all that its rule has. Of Gateway API's routes copies are objects of limpet's own, so
// that the weights stay in the user's, whoever writes them there. A VirtualService has them before the rule, for Istio
// takes the first of its routes that matches.

// copyName is what the copy of a rule for a backend is called: of an HTTP route of a VirtualService its own name, for
// controllers find the rule by its name and change its weights; else the object's. Istio names the routes of an
// object's rule as the rule says.
func copyName(rule *ir.Rule, b *ir.Backend) string {
	if isVirtual(rule) {
		return strings.TrimPrefix(fmt.Sprintf("%s-limpet-%08x", rule.Name, b.Tag), "-")
	}
	return fmt.Sprintf("limpet-%s-%d-%08x", rule.Route.Name, rule.Index, b.Tag)
}

// ledRule is a split with the Gateways on which it leads sessions to its backends.
type ledRule struct {
	*ir.AttachedRule
	gateways map[object.Ref]bool
}

// findLed finds the splits of the sets of proxies that are written, each once.
func (e *emitter) findLed() (led []*ledRule, by map[*ir.Rule]*ledRule) {
	by = map[*ir.Rule]*ledRule{}
	for _, p := range e.proxySets {
		for _, r := range p.routes {
			if !p.written || !isSplit(r.rule) {
				continue
			}
			if by[r.rule.Rule] == nil {
				by[r.rule.Rule] = &ledRule{AttachedRule: r.rule, gateways: map[object.Ref]bool{}}
				led = append(led, by[r.rule.Rule])
			}
			by[r.rule.Rule].addGateways(e.plan, p.first)
		}
	}
	return led, by
}

// newLed is a rule as its set of proxies alone leads it.
func (e *emitter) newLed(rule *ir.AttachedRule) *ledRule {
	r := &ledRule{AttachedRule: rule, gateways: map[object.Ref]bool{}}
	r.addGateways(e.plan, rule.Listener.Gateway)
	return r
}

// addGateways adds those that the proxies of one of them serve.
func (r *ledRule) addGateways(plan *ir.Plan, first *ir.Gateway) {
	for _, a := range plan.Rules {
		if a.Rule == r.Rule && haveSameProxies(a.Listener.Gateway, first) {
			r.gateways[a.Listener.Gateway.Ref] = true
		}
	}
}

// addCopies adds the copies of all splits.
func (e *emitter) addCopies() {
	led, by := e.findLed()
	e.reportMissed(led)
	done := map[*ir.RouteObject]bool{}
	for _, r := range led {
		switch {
		case !isVirtual(r.Rule):
			e.addRouteCopies(r)
		case !done[r.Route]:
			done[r.Route] = true
			e.addDocuments(e.newVirtualService(r.Route, by))
		}
	}
}

// addRouteCopies adds a route of Gateway API for a rule's sessions at each backend, and says behind which parents of
// its own route the weights choose the backend of each request.
func (e *emitter) addRouteCopies(r *ledRule) {
	whole := e.parse(&r.Route.Object)
	parents, open := e.listParents(r, whole)
	for _, i := range open {
		e.reportRule(r.AttachedRule, "", fmt.Sprintf("its sessions go by the weights behind spec.parentRefs[%d]: "+
			"a copy of the rule leads them to their backend, and may be on no Gateway where they are not kept", i))
	}
	for _, b := range r.DistinctBackends() {
		rule := r.NewCopy(findRule(whole, r.Rule), b, leadHeader, newLead(r.AttachedRule, b).Value())
		delete(rule, "sessionPersistence")
		rule["name"] = routeNames(r.Rule)[0]
		spec := map[string]any{"parentRefs": parents, "rules": []any{rule}}
		if hosts, are := childOf(whole, "spec")["hostnames"].([]any); are {
			spec["hostnames"] = hosts
		}
		e.addDocuments(document{
			"apiVersion": whole["apiVersion"], "kind": r.Route.Kind, "spec": spec,
			"metadata": map[string]any{
				"name":      copyName(r.Rule, b),
				"namespace": r.Route.Namespace,
				"labels":    object.OwnerLabels(e.Owner),
			},
		})
	}
}

// listParents are those parents of a route where limpet takes the header from what clients send, and the indices of
// ListenerSets where it does not, or may not: on any other a client could choose its backend.
func (e *emitter) listParents(r *ledRule, route map[string]any) (kept []any, open []int) {
	for i, ref := range entriesOf(childOf(route, "spec"), "parentRefs") {
		to := refOf(ref, r.Route.Namespace)
		isSet := to.Kind == object.KindListenerSet
		switch {
		case r.gateways[to], isSet && e.isLedSet(r, to):
			kept = append(kept, ref)
		case isSet:
			open = append(open, i)
		}
	}
	return kept, open
}

// isLedSet tells whether a ListenerSet is for a Gateway on which a rule is led, by the set's object in the input.
func (e *emitter) isLedSet(r *ledRule, set object.Ref) bool {
	for _, o := range e.plan.Objects[object.KindListenerSet] {
		if o.Ref != set {
			continue
		}
		ref := childOf(childOf(e.parse(o), "spec"), "parentRef")
		return r.gateways[refOf(ref, o.Namespace)]
	}
	return false
}

// refOf is the parent that a reference of an object in a namespace leads to.
func refOf(ref map[string]any, namespace string) object.Ref {
	to := object.Ref{Kind: object.KindGateway, Namespace: namespace}
	to.Name, _ = ref["name"].(string)
	if of, is := ref["namespace"].(string); is {
		to.Namespace = of
	}
	if kind, is := ref["kind"].(string); is {
		to.Kind = kind
	}
	return to
}

// newVirtualService is a VirtualService as it was read, with copies of its splits, and whom they are for. It stays the
// user's: no label says that limpet manages it.
func (e *emitter) newVirtualService(route *ir.RouteObject, led map[*ir.Rule]*ledRule) document {
	whole := e.parse(&route.Object)
	spec := childOf(whole, "spec")
	var all []any
	for i, one := range entriesOf(spec, "http") {
		if r := led[route.Rules[i]]; r != nil {
			for _, b := range r.DistinctBackends() {
				if c := newHTTPCopy(r, b, one, spec["gateways"]); c != nil {
					all = append(all, c)
				}
			}
		}
		all = append(all, one)
	}
	spec["http"] = all
	if e.Owner != "" {
		meta := childOf(whole, "metadata")
		labels := childOf(meta, "labels")
		if labels == nil {
			labels = map[string]any{}
		}
		labels[object.OwnerLabel] = e.Owner
		meta["labels"] = labels
	}
	return whole
}

// newHTTPCopy is a VirtualService's HTTP route for a rule's sessions at a backend. It is nil where none of the rule's
// matches is on a Gateway on which it is led: without matches a copy would take every request.
func newHTTPCopy(r *ledRule, b *ir.Backend, rule map[string]any, gateways any) map[string]any {
	rule = runtime.DeepCopyJSON(rule)
	rule["name"] = copyName(r.Rule, b)
	ir.NarrowMatches(rule, "match", func(match map[string]any) {
		headers, _ := match["headers"].(map[string]any)
		if headers == nil {
			headers = map[string]any{}
		}
		headers[leadHeader] = map[string]any{"exact": newLead(r.AttachedRule, b).Value()}
		match["headers"] = headers
		of, _ := match["gateways"].([]any)
		if len(of) == 0 {
			of, _ = gateways.([]any)
		}
		match["gateways"] = r.keepGateways(of)
	})
	// without gateways it would be on all of them
	matches := slices.DeleteFunc(rule["match"].([]any), func(match any) bool {
		fields, _ := match.(map[string]any)
		of, _ := fields["gateways"].([]any)
		return len(of) == 0
	})
	if len(matches) == 0 {
		return nil
	}
	rule["match"] = matches
	r.KeepBackend(rule, "route", b)
	return rule
}

// keepGateways leaves those of a VirtualService's where limpet takes the header from what clients send; mesh is none.
func (r *ledRule) keepGateways(names []any) []any {
	return slices.DeleteFunc(slices.Clone(names), func(name any) bool {
		text, _ := name.(string)
		namespace, own, both := strings.Cut(text, "/")
		if !both {
			namespace, own = r.Route.Namespace, text
		}
		return !r.gateways[object.Ref{Kind: object.KindIstioGateway, Namespace: namespace, Name: own}]
	})
}

// findRule is a rule in the document of its route of Gateway API.
func findRule(route map[string]any, rule *ir.Rule) map[string]any {
	return entriesOf(childOf(route, "spec"), "rules")[rule.Index]
}

// parse gives an object to write again.
func (e *emitter) parse(o *ir.Object) document {
	doc, err := o.Parse()
	e.fail(err)
	return doc
}

// childOf gives the object below a key.
func childOf(o map[string]any, key string) map[string]any {
	child, _ := o[key].(map[string]any)
	return child
}

// entriesOf gives the objects of a list, and one without fields for an entry that is none.
func entriesOf(o map[string]any, key string) []map[string]any {
	entries, _ := o[key].([]any)
	all := make([]map[string]any, len(entries))
	for i, entry := range entries {
		if one, is := entry.(map[string]any); is {
			all[i] = one
		} else {
			all[i] = map[string]any{}
		}
	}
	return all
}
