package policy

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// reportCaches says where a cache in front of the proxy would store the Set-Cookie of a new session, and hand one
// client's token to others: a filter of the rule makes responses storable, and nothing in the session's policies speaks
// against it.
func (d *reporter) reportCaches(s *Session) {
	control := s.Effective.Field("cache.control")
	if control == nil || control.Text != "Keep" || s.isTrue("cache.skipCacheable") || s.isTrue("cache.unsafeMethodsOnly") {
		return
	}
	rule := &s.Route.Value.Spec.Rules[s.Rule]
	filters := slices.Clone(rule.Filters)
	for _, b := range rule.BackendRefs {
		filters = append(filters, b.Filters...)
	}
	for _, f := range filters {
		if f.ResponseHeaderModifier == nil {
			continue
		}
		for _, h := range slices.Concat(f.ResponseHeaderModifier.Set, f.ResponseHeaderModifier.Add) {
			if strings.EqualFold(string(h.Name), "cache-control") && letsStore(h) {
				d.rep.AdviseAt(report.CachedSession, s.Route, rulePath(s.Rule).Child("filters").String(), fmt.Sprintf(
					"with Cache-Control %q a cache in front stores responses that begin a session, and hands one client's token to "+
						"others: write cache.control: Private, or cache.skipCacheable: true, in a SessionPersistencePolicy",
					h.Value,
				))
				return
			}
		}
	}
}

// letsStore reports whether shared caches may store what has such a header (RFC 9111, section 3).
func letsStore(h gatewayv1.HTTPHeader) bool {
	store := false
	for directive := range strings.SplitSeq(strings.ToLower(h.Value), ",") {
		switch name, _, _ := strings.Cut(strings.TrimSpace(directive), "="); name {
		case "private", "no-store":
			return false
		case "public", "max-age", "s-maxage":
			store = true
		}
	}
	return store
}

// isTrue reports whether a field of the session comes to true.
func (s *Session) isTrue(name string) bool {
	f := s.Effective.Field(name)
	return f != nil && f.Value == true
}
