package istio

import (
	"encoding/json"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// reportUnsupported reports the objects that have no effect on Istio, and mirrors.
func (e *emitter) reportUnsupported() {
	e.reportMirrors()
	e.reportCORS()
	for _, r := range e.plan.HostRoutes {
		e.rep.NotSupportedBy(report.TargetLacks, r.Subject, Target, "", "Istio does not know "+r.Kind)
	}
	for _, b := range e.plan.Objects[object.KindXBackend] {
		e.rep.NotSupportedBy(report.TargetLacks, b.Subject, Target, "", "Istio knows no XBackend")
	}
	for _, p := range e.plan.Objects[object.KindLoadBalancer] {
		e.rep.NotSupportedBy(report.TargetLacks, p.Subject, Target, "spec",
			"what spreads requests without sessions is spec.trafficPolicy.loadBalancer of a DestinationRule")
	}
	for _, p := range e.plan.Objects[object.KindTrafficPolicy] {
		if e.capsRetries(p) {
			e.rep.NotSupportedBy(report.TargetLacks, p.Subject, Target, "spec.retryConstraint",
				"what caps retries is spec.trafficPolicy.connectionPool of a DestinationRule")
		}
	}
}

// reportMirrors reports the rules whose mirrors get tokens (S79).
func (e *emitter) reportMirrors() {
	reported := map[*ir.Rule]bool{}
	for _, a := range e.plan.Rules {
		if reported[a.Rule] || !a.Mirrors || !showsTokens(a.Sessions) {
			continue
		}
		reported[a.Rule] = true
		e.rep.NotSupportedBy(
			report.TargetLacks,
			a.Route.Subject,
			Target,
			rulePath(a)+".filters",
			"its mirrors get the session's token: Istio has no field for what copies lack, and an EnvoyFilter adds mirrors "+
				"to Envoy's list of them but changes none",
		)
	}
}

// reportCORS reports the rules that keep pages of other sites from reading the header of their sessions, or from
// sending it (S44).
func (e *emitter) reportCORS() {
	reported := map[*ir.Rule]bool{}
	for _, a := range e.plan.Rules {
		if reported[a.Rule] || a.CORS == nil || !a.Sessions.On() {
			continue
		}
		for _, s := range a.Sessions.All {
			p := &s.Policies[0]
			headers, expose := a.CORS.Lacks(p.SessionName)
			if p.Type == policyconfig.TypeHeader && (headers || expose) {
				reported[a.Rule] = true
				e.rep.NotSupportedBy(report.TargetLacks, a.Route.Subject, Target, rulePath(a),
					"Istio reads what the rule says of CORS itself, and pages of other "+
						"sites can't keep the session: add "+p.SessionName+" to its allowHeaders and exposeHeaders")
			}
		}
	}
}

// showsTokens reports whether requests go on with the token of a session: an envelope is opened before.
func showsTokens(sessions *ir.RuleSessions) bool {
	return sessions.On() && slices.ContainsFunc(sessions.All, func(s *ir.Session) bool {
		return s.Policies[0].Forward && !s.Policies[0].Envelope
	})
}

// capsRetries reports whether an XBackendTrafficPolicy has a retry budget.
func (e *emitter) capsRetries(p *ir.Object) bool {
	var o struct {
		Spec struct {
			RetryConstraint any `json:"retryConstraint"`
		} `json:"spec"`
	}
	e.fail(json.Unmarshal(p.JSON, &o))
	return o.Spec.RetryConstraint != nil
}
