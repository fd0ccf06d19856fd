package plugincheck

import (
	"slices"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// moving are the conditions under which Envoy tries another host though the session's own has not answered.
var moving = []string{
	"5xx", "gateway-error", "reset", "reset-before-request", "connect-failure", "refused-stream",
	"http3-post-connect-failure",
}

// checkFail: a session that is to fail with its host must have no way to another.
func (t *table) checkFail(p place, policy *policyconfig.Policy) {
	retries := p.inherited("retry_policy").get("retry_on")
	for word := range strings.SplitSeq(retries.text(), ",") {
		if word = strings.TrimSpace(word); slices.Contains(moving, word) {
			t.add(retries, "Invalid value: %q: another host serves then, and policy %q has onHostLost Fail", word, policy.Name)
		}
	}
	if hedged := p.inherited("hedge_policy").get("hedge_on_per_try_timeout"); hedged.isTrue() {
		t.add(
			hedged,
			"Invalid value: true: Envoy asks another host when the session's own is slow, and policy %q has onHostLost Fail",
			policy.Name,
		)
	}
	lax := func(d place) bool { return holds(policy, d.clusterName()) && !t.strict(d) }
	if t.chain.native || t.parts.pin < 0 || !slices.ContainsFunc(p.destinations(), lax) {
		return
	}
	t.add(
		p.route,
		"policy %q has onHostLost Fail, and stateful_session is not strict: set strict: true in StatefulSessionPerRoute, "+
			"or another host serves a session whose own is gone",
		policy.Name,
	)
}

// strict tells whether stateful_session is so on a route, or in the cluster of its split.
func (t *table) strict(p place) bool {
	f := &t.chain.filters[t.parts.pin]
	for _, level := range p.levels() {
		if own := f.settings(level).get("stateful_session"); !own.missing() {
			return own.get("strict").isTrue()
		}
	}
	return f.config.get("strict").isTrue()
}
