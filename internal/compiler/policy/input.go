package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// ruleInput is all that a rule's sessions on one listener depend on, as long as no other rule has a say.
type ruleInput struct {
	ruleLocation
	hostnames []string // those of the route that the listener has, too
	backends  []backend.Identity
	refusals  []Refusal // for backends whose session can't be honoured
	// lost are the policies whose overrides would hold here if their status could list the Gateway.
	lost []object.Ref
	// blocksByPath has the blocks on each path except for what is inline in the rule: with perBackend one for each
	// backend, else one.
	blocksByPath [][]precedence.SettingsBlock
	// blocksByBackend has, where a split may be refused for it (S36), those on the path to each backend alone.
	blocksByBackend [][]precedence.SettingsBlock
}

// ruleLocation is where requests meet a rule, and how it is to be read.
type ruleLocation struct {
	route                *gateway.Route
	rule                 int
	class                string // of the Gateway
	gateway              object.Ref
	listener             string
	release              sessionapi.APIRelease
	xbackend, perBackend bool
	// mirrored says that limpet has the proxy mirror requests of the rule.
	mirrored bool
}

// gatherInputs gathers the input of each rule.
func gatherInputs(rules []*attachedRule, attached *attachedPolicies, limit *ancestors.Limit, o Options) []*ruleInput {
	inputs := make([]*ruleInput, len(rules))
	for i, r := range rules {
		in := &ruleInput{
			ruleLocation: r.locate(),
			hostnames:    r.listener.Hostnames(r.route),
			backends:     r.identities,
			refusals:     r.refusals,
		}
		in.lost = attached.lostOverrides(in.pathTo(in.backends), limit)
		in.mirrored = o.HidesTokens && in.hasMirrors()
		if !in.perBackend {
			in.blocksByPath = [][]precedence.SettingsBlock{attached.blocksOn(in.pathTo(in.backends), limit)}
		}
		for b := range in.backends {
			if in.perBackend {
				in.blocksByPath = append(in.blocksByPath, attached.blocksOn(in.pathTo(in.backends[b:b+1]), limit))
			} else if o.RejectPartial {
				in.blocksByBackend = append(in.blocksByBackend, attached.blocksOn(in.pathTo(in.backends[b:b+1]), limit))
			}
		}
		inputs[i] = in
	}
	return inputs
}

// hasMirrors reports whether the rule, or a backend of it, asks for copies.
func (l *ruleLocation) hasMirrors() bool {
	rule := &l.route.Value.Spec.Rules[l.rule]
	mirrors := func(f gatewayv1.HTTPRouteFilter) bool { return f.RequestMirror != nil }
	return slices.ContainsFunc(rule.Filters, mirrors) ||
		slices.ContainsFunc(rule.BackendRefs, func(b gatewayv1.HTTPBackendRef) bool {
			return slices.ContainsFunc(b.Filters, mirrors)
		})
}

// pathTo is the path that leads to some of the rule's backends.
func (l *ruleLocation) pathTo(backends []backend.Identity) precedence.TrafficPath {
	path := precedence.TrafficPath{Class: l.class, Gateway: l.gateway, Listener: l.listener, Route: l.route.Ref()}
	if name := l.route.Value.Spec.Rules[l.rule].Name; name != nil {
		path.Rule = string(*name)
	}
	for i := range backends {
		path.Backends = append(path.Backends, backends[i].Target())
	}
	return path
}

// countMatches is how many matches the rule has; without any in its spec it has one, of everything.
func (l *ruleLocation) countMatches() int {
	return max(1, len(l.route.Value.Spec.Rules[l.rule].Matches))
}

// fieldPath leads to the rule in its route.
func (l *ruleLocation) fieldPath() *field.Path { return rulePath(l.rule) }

func rulePath(rule int) *field.Path { return field.NewPath("spec", "rules").Index(rule) }
