package envoygateway

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// neverStatus is a code that no server answers. A session leaves a host that does not answer by a retry: Envoy drops
// the pin then, and Envoy Gateway tries hosts that it has not tried yet. It retries on refused connections and, unless
// codes are given, on answers of 503, which a backend may have acted on.
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

// writeRoutes writes every route with sessions, as it was but for its rules' session persistence: those with sessions
// have the pin, and none has Envoy Gateway's own, whose tokens any client can make.
func (e *emitter) writeRoutes() {
	done := map[*ir.RouteObject]bool{}
	for _, r := range e.rules {
		if !done[r.Route] {
			done[r.Route] = true
			e.writeRoute(r.Route)
		}
		e.completeRule(r, e.findRuleDocument(r))
		e.writeCopies(r)
	}
	for _, route := range e.plan.Routes {
		if !done[route] && len(route.InlineSessions) > 0 {
			e.writeRoute(route)
		}
	}
}

// writeRoute writes a route without session persistence.
func (e *emitter) writeRoute(route *ir.RouteObject) {
	doc := e.editDocument(&route.Object)
	e.markRoute(route, doc)
	for _, rule := range listObjects(childObject(doc, "spec"), "rules") {
		delete(rule, "sessionPersistence")
	}
	e.addDocument(doc)
}

// findRuleDocument is the rule in its document.
func (e *emitter) findRuleDocument(r *sessionRule) jsonObject {
	return listObjects(childObject(e.editDocument(&r.Route.Object), "spec"), "rules")[r.Index]
}

// completeRule gives a rule what its sessions need of the route.
func (e *emitter) completeRule(r *sessionRule, rule jsonObject) {
	if !isGRPC(r.Rule) {
		e.setRetry(r, rule)
		// without one Envoy Gateway gives the route another name, and no session persistence
		if len(listObjects(rule, "matches")) == 0 {
			rule["matches"] = []any{jsonObject{"path": jsonObject{"type": "PathPrefix", "value": "/"}}}
		}
	}
	if !e.options.isNative() && !isGRPC(r.Rule) {
		rule["sessionPersistence"] = jsonObject{"type": "Header", "sessionName": pinHeader}
	}
	e.hideHeaders(r, rule)
	if r.perBackendClusters && (r.copies != nil || r.hasPerBackendSessions()) {
		for _, ref := range listObjects(rule, "backendRefs") {
			// It is a filter of any kind that is needed, which gives the backend a cluster of its own.
			if len(listObjects(ref, "filters")) == 0 {
				e.removeHeader(ref, requestHeaders, modifiers[0].field, pinHeader)
			}
		}
	}
	e.allowSessions(r, rule)
	scaleWeights(r, rule)
}

// allowSessions lets pages of the sites that a rule allows read the headers of its sessions, and send them back (S44).
func (e *emitter) allowSessions(r *sessionRule, rule jsonObject) {
	if r.CORS == nil {
		return
	}
	for _, p := range r.policies {
		if p.Type == policyconfig.TypeHeader {
			headers, expose := r.CORS.Lacks(p.SessionName)
			e.allowHeader(r, rule, "allowHeaders", p.SessionName, headers)
			e.allowHeader(r, rule, "exposeHeaders", p.SessionName, expose)
		}
	}
}

// allowHeader adds a header to a list of a rule's CORS filter that lacks it. Gateway API has no other header beside a
// "*".
func (e *emitter) allowHeader(r *sessionRule, rule jsonObject, list, header string, lacks bool) {
	for i, f := range listObjects(rule, "filters") {
		settings, is := f["cors"].(jsonObject)
		if !is || !lacks {
			continue
		}
		if listed, _ := settings[list].([]any); !slices.Contains(listed, any("*")) {
			appendEntry(settings, list, header)
			continue
		}
		e.rep.NotSupportedBy(
			report.TargetLacks,
			r.Route.Subject,
			targetName,
			r.path().Child("filters").Index(i).Child("cors", list).String(),
			`"*" does not stand for the session's header where requests have credentials: list the headers, with `+header,
		)
	}
}

// listHidden are the internal headers that requests of a rule's sessions have: which host it is, and for which backend
// copies of the rule are.
func (e *emitter) listHidden(led bool) (headers []string) {
	if !e.options.isNative() {
		headers = append(headers, pinHeader)
	}
	if led {
		headers = append(headers, leadHeader)
	}
	return headers
}

// hideHeaders keeps the internal headers from backends, and theirs from the filter.
func (e *emitter) hideHeaders(r *sessionRule, rule jsonObject) {
	for _, header := range e.listHidden(r.copies != nil) {
		e.removeHeader(rule, requestHeaders, modifiers[0].field, header)
	}
	if !e.options.isNative() {
		e.removeHeader(rule, responseHeaders, modifiers[1].field, pinHeader)
	}
}

// setRetry moves sessions off hosts that refuse them, as the rule says itself or else by our own means. Where sessions
// fail with their host a retry would move them all the same, so there is none.
func (e *emitter) setRetry(r *sessionRule, rule jsonObject) {
	switch {
	case !r.failsWithHost() && rule["retry"] == nil:
		rule["retry"] = jsonObject{"attempts": int64(ir.DefaultAttempts), "codes": []any{int64(neverStatus)}}
	case r.failsWithHost() && rule["retry"] != nil:
		delete(rule, "retry")
		e.rep.NotSupportedBy(report.TargetLacks, r.Route.Subject, targetName, r.path().Child("retry").String(),
			"a retry would move the sessions that onHostLost Fail keeps")
	case r.RetriesCodes:
		e.rep.NotSupportedBy(report.TargetLacks, r.Route.Subject, targetName, r.path().Child("retry", "codes").String(),
			"codes for requests without a session alone: a retry moves the session from a host that answers with one of them")
	}
}

// removeHeader makes the filters of a rule or backendRef remove an internal header. There is one filter of a kind at
// most.
func (e *emitter) removeHeader(of jsonObject, kind, field, header string) {
	for _, f := range listObjects(of, "filters") {
		if stringField(f, "type") == kind {
			appendEntry(childObject(f, field), "remove", header)
			return
		}
	}
	appendEntry(of, "filters", jsonObject{"type": kind, field: jsonObject{"remove": []any{header}}})
}

// findFullFilter gives the kind of a filter of the rule or its backendRefs that can't remove so many headers more;
// empty if there is none.
func (e *emitter) findFullFilter(r *sessionRule, more int) string {
	if more == 0 {
		return ""
	}
	filters := listObjects(e.findRuleDocument(r), "filters")
	for _, ref := range listObjects(e.findRuleDocument(r), "backendRefs") {
		filters = append(filters, listObjects(ref, "filters")...)
	}
	for _, f := range filters {
		for _, m := range modifiers {
			settings, _ := f[m.field].(jsonObject)
			if removed, _ := settings["remove"].([]any); len(removed)+more > maxRemoved {
				return m.kind
			}
		}
	}
	return ""
}

// maxWeight is the greatest weight of a backendRef.
const maxWeight = 1_000_000

// isMerged reports whether the rule has several backends under one session, in one cluster.
func (r *sessionRule) isMerged() bool {
	return !r.perBackendClusters && len(r.Backends) > 1 && r.countLive() > 0
}

// scaleWeights lets backends of weight 0 keep their sessions. Envoy Gateway leaves their hosts out, so they get the
// least weight that there is, which a patch takes away again; the others' grow in proportion, so that without the patch
// it is less than one request in a hundred thousand.
func scaleWeights(r *sessionRule, rule jsonObject) {
	if !r.isMerged() || r.countLive() == len(r.Backends) {
		return
	}
	most := int32(0)
	for _, ref := range r.Backends {
		most = max(most, ref.Weight)
	}
	for i, ref := range listObjects(rule, "backendRefs") {
		ref["weight"] = max(1, int(r.Backends[i].Weight)*(maxWeight/int(most)))
	}
}
