package istio

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// One session over a split: the weights choose the backend of a new session, and its token leads it there from then on. For that the
// rule is there once more for each backend, with one match more: a header that the filter sets of requests with sessions. A copy carries
// all that its rule has. Of Gateway API's routes copies are objects of limpet's own, so that the weights stay in the user's, whoever
// writes them there. A VirtualService has them before the rule, for Istio takes the first of its routes that matches.

// leadHeader is the header that copies match.
var leadHeader = policyconfig.BackendHeader(policyconfig.DefaultPinHeader)

// maxHeaders is how many headers a match of Gateway API takes.
const maxHeaders = 16

// isSplit tells whether the rule's sessions are over several backends.
func isSplit(rule *ir.AttachedRule) bool {
	return !rule.Sessions.PerBackend && len(rule.DistinctBackends()) > 1
}

// hasSplit tells whether a set of proxies leads requests to backends.
func (p *proxySet) hasSplit() bool {
	return slices.ContainsFunc(p.routes, func(r *enabledRule) bool { return isSplit(r.rule) })
}

// newLead says to which backend of a rule its cluster leads. A split has a tag, so that no rule's requests meet another's copies.
func newLead(rule *ir.AttachedRule, b *ir.Backend) policyconfig.Lead {
	l := policyconfig.Lead{Cluster: clusterName(b), Backend: b.Tag}
	if isSplit(rule) {
		l.Rule = token.BackendTag(fmt.Sprintf("%s/%d/%s", rule.Route.Ref, rule.Index, rule.Name))
	}
	return l
}

func listLeads(rule *ir.AttachedRule) (leads []string) {
	for _, b := range rule.DistinctBackends() {
		leads = append(leads, newLead(rule, b).String())
	}
	return leads
}

// findSplitScopes are the scopes of splits' sessions: rules that share them tell their backends too.
func (p *proxySet) findSplitScopes() map[string]bool {
	scopes := map[string]bool{}
	for _, rule := range p.rules {
		for _, s := range rule.Sessions.All {
			for _, one := range s.Policies {
				scopes[one.Scope] = scopes[one.Scope] || isSplit(rule)
			}
		}
	}
	return scopes
}

// copyName is what the copy of a rule for a backend is called: of an HTTP route of a VirtualService its own name, for controllers find the
// rule by its name and change its weights; else the object's. Istio names the routes of an object's rule as the rule says.
func copyName(rule *ir.Rule, b *ir.Backend) string {
	if isVirtual(rule) {
		return strings.TrimPrefix(fmt.Sprintf("%s-limpet-%08x", rule.Name, b.Tag), "-")
	}
	return fmt.Sprintf("limpet-%s-%d-%08x", rule.Route.Name, rule.Index, b.Tag)
}

func isVirtual(rule *ir.Rule) bool { return rule.Route.Kind == object.KindVirtualService }

// matchNames are the names of Istio's routes for each match of a rule, with those of its copies.
func matchNames(rule *ir.AttachedRule) [][]string {
	all := make([][]string, rule.CountMatches())
	add := func(as *ir.Rule) {
		for m, name := range routeNames(as) {
			all[m] = append(all[m], name)
		}
	}
	add(rule.Rule)
	if isSplit(rule) && isVirtual(rule.Rule) {
		for _, b := range rule.DistinctBackends() {
			as := *rule.Rule
			as.Name = copyName(rule.Rule, b)
			add(&as)
		}
	}
	return all
}

// takesCopies tells whether a split can have its copies. If not, it goes without sessions, and is told.
func (e *emitter) takesCopies(rule *ir.AttachedRule) bool {
	if !isSplit(rule) {
		return true
	}
	if n := len(rule.DistinctBackends()); n > policyconfig.MaxLeads {
		e.withhold(rule, rulePath(rule), fmt.Sprintf("one session over %d backends; there is room for %d", n, policyconfig.MaxLeads))
		return false
	}
	if isVirtual(rule.Rule) {
		return true
	}
	for _, match := range entriesOf(e.findRule(rule.Rule), "matches") {
		if len(entriesOf(match, "headers")) >= maxHeaders {
			e.withhold(rule, rulePath(rule), "a match has 16 headers, and there is no room for the one by which sessions find their backend")
			return false
		}
	}
	for _, b := range rule.DistinctBackends() {
		ref := object.Ref{Kind: rule.Route.Kind, Namespace: rule.Route.Namespace, Name: copyName(rule.Rule, b)}
		for _, name := range []string{ref.Name, routeNames(rule.Rule)[0]} {
			if len(name) > validation.DNS1123SubdomainMaxLength {
				e.withhold(rule, rulePath(rule), "the name of its copy for each backend would be too long: "+name)
				return false
			}
		}
		if !e.plan.MayWrite(ref, e.Owner, e.rep) {
			e.withhold(rule, rulePath(rule), ir.WhyTaken(ref))
			return false
		}
	}
	return true
}

// ledRule is a split with the Gateways on which it leads sessions to its backends.
type ledRule struct {
	*ir.AttachedRule
	gateways map[object.Ref]bool
	// everywhere says that these are all Gateways that it is on.
	everywhere bool
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
				by[r.rule.Rule] = &ledRule{AttachedRule: r.rule, gateways: map[object.Ref]bool{}, everywhere: true}
				led = append(led, by[r.rule.Rule])
			}
			by[r.rule.Rule].addGateways(e.plan, p)
		}
	}
	for _, a := range e.plan.Rules {
		if r := by[a.Rule]; r != nil && !r.gateways[a.Listener.Gateway.Ref] {
			r.everywhere = false
		}
	}
	return led, by
}

// addGateways adds those that a set of proxies serves.
func (r *ledRule) addGateways(plan *ir.Plan, p *proxySet) {
	for _, a := range plan.Rules {
		if a.Rule == r.Rule && haveSameProxies(a.Listener.Gateway, p.first) {
			r.gateways[a.Listener.Gateway.Ref] = true
		}
	}
}

// addCopies adds the copies of all splits.
func (e *emitter) addCopies() {
	led, by := e.findLed()
	done := map[*ir.RouteObject]bool{}
	for _, r := range led {
		switch {
		case !isVirtual(r.Rule):
			for _, b := range r.DistinctBackends() {
				e.addDocuments(e.newRouteCopy(r, b))
			}
		case !done[r.Route]:
			done[r.Route] = true
			e.addDocuments(e.newVirtualService(r.Route, by))
		}
	}
}

// newRouteCopy is the route of Gateway API for a rule's sessions at a backend.
func (e *emitter) newRouteCopy(r *ledRule, b *ir.Backend) document {
	whole := e.parse(&r.Route.Object)
	rule := e.findRule(r.Rule)
	delete(rule, "sessionPersistence")
	rule["name"] = routeNames(r.Rule)[0]
	addMatch(rule, "matches", func(match map[string]any) {
		headers, _ := match["headers"].([]any)
		match["headers"] = append(headers, map[string]any{"name": leadHeader, "value": newLead(r.AttachedRule, b).Value()})
	})
	r.keepBackend(rule, "backendRefs", b)
	spec := map[string]any{"parentRefs": e.listParents(r, whole), "rules": []any{rule}}
	if hosts, has, _ := unstructured.NestedSlice(whole, "spec", "hostnames"); has {
		spec["hostnames"] = hosts
	}
	return document{
		"apiVersion": whole["apiVersion"], "kind": r.Route.Kind, "spec": spec,
		"metadata": map[string]any{"name": copyName(r.Rule, b), "namespace": r.Route.Namespace, "labels": object.OwnerLabels(e.Owner)},
	}
}

// listParents are those parents of a route where limpet takes the header from what clients send: on any other a client could choose its
// backend.
func (e *emitter) listParents(r *ledRule, route map[string]any) (kept []any) {
	for i, ref := range entriesOf(childOf(route, "spec"), "parentRefs") {
		name := object.Ref{Kind: object.KindGateway, Namespace: r.Route.Namespace}
		name.Name, _ = ref["name"].(string)
		if namespace, is := ref["namespace"].(string); is {
			name.Namespace = namespace
		}
		kind, is := ref["kind"].(string)
		switch {
		case !is || kind == object.KindGateway:
			if r.gateways[name] {
				kept = append(kept, ref)
			}
		case kind == object.KindListenerSet && r.everywhere:
			kept = append(kept, ref)
		case kind == object.KindListenerSet:
			e.reportRule(r.AttachedRule, "", fmt.Sprintf("its sessions go by the weights behind spec.parentRefs[%d]: "+
				"a copy of the rule leads them to their backend, and may be on no Gateway where they are not kept", i))
		}
	}
	return kept
}

// newVirtualService is a VirtualService as it was read, with copies of its splits.
func (e *emitter) newVirtualService(route *ir.RouteObject, led map[*ir.Rule]*ledRule) document {
	whole := e.parse(&route.Object)
	spec := childOf(whole, "spec")
	var all []any
	for i, one := range entriesOf(spec, "http") {
		if r := led[route.Rules[i]]; r != nil {
			for _, b := range r.DistinctBackends() {
				all = append(all, newHTTPCopy(r, b, one, spec["gateways"]))
			}
		}
		all = append(all, one)
	}
	spec["http"] = all
	return whole
}

// newHTTPCopy is a VirtualService's HTTP route for a rule's sessions at a backend.
func newHTTPCopy(r *ledRule, b *ir.Backend, rule map[string]any, gateways any) map[string]any {
	rule = runtime.DeepCopyJSON(rule)
	rule["name"] = copyName(r.Rule, b)
	addMatch(rule, "match", func(match map[string]any) {
		headers, _ := match["headers"].(map[string]any)
		if headers == nil {
			headers = map[string]any{}
		}
		headers[leadHeader] = map[string]any{"exact": newLead(r.AttachedRule, b).Value()}
		match["headers"] = headers
		of := match["gateways"]
		if of == nil {
			of = gateways
		}
		match["gateways"] = r.keepGateways(of)
	})
	rule["match"] = slices.DeleteFunc(rule["match"].([]any), func(match any) bool { // without gateways it would be on all of them
		fields, _ := match.(map[string]any)
		of, _ := fields["gateways"].([]any)
		return len(of) == 0
	})
	r.keepBackend(rule, "route", b)
	return rule
}

// keepGateways leaves those of a VirtualService's where limpet takes the header from what clients send; mesh is none.
func (r *ledRule) keepGateways(names any) []any {
	all, _ := names.([]any)
	return slices.DeleteFunc(slices.Clone(all), func(name any) bool {
		text, _ := name.(string)
		namespace, own, both := strings.Cut(text, "/")
		if !both {
			namespace, own = r.Route.Namespace, text
		}
		return !r.gateways[object.Ref{Kind: object.KindIstioGateway, Namespace: namespace, Name: own}]
	})
}

// keepBackend leaves a copy the first of the rule's references to a backend.
func (r *ledRule) keepBackend(rule map[string]any, field string, b *ir.Backend) {
	at := slices.IndexFunc(r.Backends, func(ref ir.BackendRef) bool { return ref.Backend == b })
	ref := entriesOf(rule, field)[at]
	delete(ref, "weight")
	rule[field] = []any{ref}
}

// addMatch narrows each of a rule's matches. A rule without any matches all requests.
func addMatch(rule map[string]any, field string, narrow func(match map[string]any)) {
	if len(entriesOf(rule, field)) == 0 {
		rule[field] = []any{map[string]any{}}
	}
	for _, match := range entriesOf(rule, field) {
		narrow(match)
	}
}

// findRule is a rule in its route of Gateway API.
func (e *emitter) findRule(rule *ir.Rule) map[string]any {
	return entriesOf(childOf(e.parse(&rule.Route.Object), "spec"), "rules")[rule.Index]
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
