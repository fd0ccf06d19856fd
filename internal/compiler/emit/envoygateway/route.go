package envoygateway

import (
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// neverStatus is a code that nobody answers. A session leaves a host that does not answer by a retry: Envoy drops the pin
// then, and Envoy Gateway tries hosts that it has not tried yet. It retries on refused connections and, unless codes are
// given, on answers of 503, which a backend may have acted on.
const neverStatus = 599

// maxRemoved is how many headers a filter can remove (HTTPHeaderFilter, remove).
const maxRemoved = 16

// The kinds of filters that modify headers.
const (
	requestHeaders  = "RequestHeaderModifier"
	responseHeaders = "ResponseHeaderModifier"
)

// modifiers are they, with the field that each has its settings in.
var modifiers = []struct{ kind, field string }{
	{requestHeaders, "requestHeaderModifier"}, {responseHeaders, "responseHeaderModifier"},
}

// routes writes every route with sessions, as it was but for its rules' session persistence: those with sessions have
// the pin, and none has Envoy Gateway's own, whose tokens anybody can make.
func (e *emitter) routes() {
	done := map[*gateway.Route]bool{}
	for _, r := range e.rules {
		if !done[r.route] {
			done[r.route] = true
			e.withoutSessions(r.route)
			e.add(edit(e, r.route))
		}
		e.pin(r, e.written(r))
	}
	for _, route := range e.Objects.Routes {
		if !done[route] && len(route.Sessions) > 0 {
			e.withoutSessions(route)
			e.add(edit(e, route))
		}
	}
}

// written is the rule in its document.
func (e *emitter) written(r *rule) object {
	return objects(child(edit(e, r.route), "spec"), "rules")[r.index]
}

func (e *emitter) withoutSessions(route *gateway.Route) {
	for _, rule := range objects(child(edit(e, route), "spec"), "rules") {
		delete(rule, "sessionPersistence")
	}
}

// pin makes a rule pin requests to the host in the internal header, and keeps that from backends and theirs from it.
func (e *emitter) pin(r *rule, rule object) {
	if !r.isGRPC() {
		rule["sessionPersistence"] = object{"type": "Header", "sessionName": e.PinHeader}
		e.retry(r, rule)
		if len(objects(rule, "matches")) == 0 { // without a match Envoy Gateway leaves the session persistence out
			rule["matches"] = []any{object{"path": object{"type": "PathPrefix", "value": "/"}}}
		}
	}
	for _, m := range modifiers {
		e.remove(rule, m.kind, m.field)
	}
	if r.apart && r.perBackend() {
		for _, ref := range objects(rule, "backendRefs") {
			e.remove(ref, requestHeaders, modifiers[0].field)
		}
	}
	scale(r, rule)
}

// retry moves sessions off hosts that refuse them, as the rule says itself or else by our own means. Where sessions fail
// with their host a retry would move them all the same, so there is none.
func (e *emitter) retry(r *rule, rule object) {
	switch {
	case !r.strict() && rule["retry"] == nil:
		rule["retry"] = object{"attempts": ir.DefaultAttempts, "codes": []any{neverStatus}}
	case r.strict() && rule["retry"] != nil:
		delete(rule, "retry")
		e.rep.NotCarried(r.route, target, r.path().Child("retry").String(), "a retry would move the sessions that onHostLost Fail keeps")
	}
}

// remove makes the filters of a rule or backendRef remove the internal header. There is one filter of a kind at most.
func (e *emitter) remove(of object, kind, field string) {
	for _, f := range objects(of, "filters") {
		if text(f, "type") == kind {
			extend(child(f, field), "remove", e.PinHeader)
			return
		}
	}
	extend(of, "filters", object{"type": kind, field: object{"remove": []any{e.PinHeader}}})
}

// fullFilter gives the kind of a filter of the rule or its backendRefs that can't remove one header more; empty if there is none.
func (e *emitter) fullFilter(r *rule) string {
	filters := objects(e.written(r), "filters")
	for _, ref := range objects(e.written(r), "backendRefs") {
		filters = append(filters, objects(ref, "filters")...)
	}
	for _, f := range filters {
		for _, m := range modifiers {
			settings, _ := f[m.field].(object)
			if removed, _ := settings["remove"].([]any); len(removed) >= maxRemoved {
				return m.kind
			}
		}
	}
	return ""
}

// maxWeight is the greatest weight of a backendRef.
const maxWeight = 1_000_000

// merged reports whether the rule has several backends under one session, in one cluster.
func (r *rule) merged() bool { return !r.apart && len(r.refs) > 1 && r.live() > 0 }

// scale lets backends of weight 0 keep their sessions. Envoy Gateway leaves their hosts out, so they get the least weight
// that there is, which a patch takes away again; the others' grow in proportion, so that without the patch it is less
// than one request in a hundred thousand.
func scale(r *rule, rule object) {
	if !r.merged() || r.live() == len(r.refs) {
		return
	}
	most := int32(0)
	for _, ref := range r.refs {
		most = max(most, ref.weight)
	}
	for i, ref := range objects(rule, "backendRefs") {
		ref["weight"] = max(1, int(r.refs[i].weight)*(maxWeight/int(most)))
	}
}
