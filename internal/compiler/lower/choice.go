package lower

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// statusUnready is what requests get for a Service without ready endpoints (HTTPRoute, rules.backendRefs).
const statusUnready = 503

// choice is a backend of a rule and its share. Refs to one backend are one choice.
type choice struct {
	backend          *backend.Backend // nil for all that is invalid
	weight           uint32
	unresolvedStatus int  // the status if it is
	http2            bool // how its hosts are spoken to
	tls              *ir.UpstreamTLS
	// validation tells the TLS that a backendRef asks for from that of others; empty for a policy's.
	validation string
	// unseen says that its hosts see no certificate of a Gateway.
	unseen bool
	// balancing is the strategy for its hosts; under one session that of all choices is the same.
	balancing ir.Balancing
	outcome   loadbalancing.Outcome
	// effectiveBudget is the Service's retry budget by precedence, and budget what the choice gets of it; noBudgetReason
	// says why it gets none.
	effectiveBudget *retrybudget.EffectiveBudget
	budget          *ir.RetryBudget
	noBudgetReason  string
	// edits are of this share alone.
	edits
	// drainTimeout is how long sessions stay on a host that terminates; nil for as long as it serves.
	drainTimeout *policyconfig.Duration
	// keepUnselected is how long sessions stay on a pod that is unselected; nil for not at all, and where that is not
	// known.
	keepUnselected *policyconfig.Duration
}

// resolveChoices resolves a rule's backendRefs, in order.
func (l *lowerer) resolveChoices(route *gateway.Route, path *field.Path, index int) []choice {
	rule := &route.Value.Spec.Rules[index]
	refs := rule.BackendRefs
	redirects := rule.Filters != nil && slices.ContainsFunc(rule.Filters, isRedirect)
	if len(refs) == 0 && !redirects {
		l.rep.Warn(report.NoBackend, route, field.Required(path.Child("backendRefs"),
			fmt.Sprintf("without one every request of the rule gets %d", gateway.UnresolvedStatusCode(route))))
	}
	var choices []choice
	total := uint32(0)
	for i, ref := range refs {
		weight := uint32(1)
		if ref.Weight != nil {
			weight = uint32(*ref.Weight) // 0 to 1,000,000 by the schema
		}
		c, invalid := l.resolveChoice(route, path.Child("backendRefs").Index(i), ref.BackendRef)
		if invalid != nil {
			invalid.Detail += describeConsequence(weight, c.unresolvedStatus)
			l.rep.WarnFor(report.BackendNotFound, route, string(backend.ReasonFor(invalid)), invalid)
		}
		if c.backend != nil {
			l.secureBackend(&c, route, index, i)
		}
		if f := gateway.FilterFault(route, path.Child("backendRefs").Index(i)); f != nil {
			c = choice{unresolvedStatus: gateway.UnresolvedStatusCode(route)}
		}
		c.weight = weight
		c.edits = lowerBackendFilters(ref.Filters)
		choices = mergeChoice(choices, c)
		total += weight
	}
	if len(refs) > 0 && total == 0 {
		l.rep.WarnAt(report.NoBackend, route, path.Child("backendRefs").String(), fmt.Sprintf(
			"all weights are 0: requests that belong to no session get %d; give a backend a weight above 0",
			gateway.UnresolvedStatusCode(route)))
	}
	return choices
}

// resolveChoice follows a reference to what serves a route.
func (l *lowerer) resolveChoice(
	route *gateway.Route,
	path *field.Path,
	ref gatewayv1.BackendRef,
) (choice, *field.Error) {
	return l.resolveTarget(route, path, ref, route.Kind == object.KindGRPCRoute)
}

// resolveTarget follows a reference to what shall speak gRPC, or HTTP.
func (l *lowerer) resolveTarget(
	route *gateway.Route,
	path *field.Path,
	ref gatewayv1.BackendRef,
	grpc bool,
) (choice, *field.Error) {
	c := choice{unresolvedStatus: gateway.UnresolvedStatusCode(route)}
	b, invalid := l.Backends.Resolve(route, path, ref)
	switch {
	case invalid != nil:
		return c, invalid
	case grpc && b.Protocol == backend.HTTP1:
		return c, field.Invalid(path, b.Name, "its port's protocol is HTTP/1.1, and gRPC needs HTTP/2")
	}
	if !l.secure(&c, route, path, b) {
		return c, nil
	}
	c.backend, c.http2 = b, grpc || b.Protocol == backend.HTTP2
	return c, nil
}

// secure gives a choice the TLS that a policy asks for to its backend. It is false for a policy that can't be honoured:
// nothing may be sent then.
func (l *lowerer) secure(c *choice, route *gateway.Route, path *field.Path, b *backend.Backend) bool {
	policy := l.BackendTLS.For(b.Target())
	if policy == nil {
		return true
	}
	if c.tls = policy.TLS; c.tls == nil {
		l.rep.Warn(report.BackendTLS, route, field.Invalid(path, b.Name,
			fmt.Sprintf("%s asks for TLS to it and is not valid: nothing is sent there", policy.Policy)))
		return false
	}
	if c.unseen = b.Object.Kind == object.KindXBackend; !c.unseen {
		c.showClient(l.client)
	}
	return true
}

// showClient makes a choice's hosts see a certificate, if TLS is spoken to them.
func (c *choice) showClient(client *ir.Certificate) {
	if c.tls != nil && c.tls.Client != client {
		tls := *c.tls
		tls.Client, c.tls = client, &tls
	}
}

func describeConsequence(weight uint32, status int) string {
	if weight == 0 {
		return ": its weight is 0, so no request misses it"
	}
	return fmt.Sprintf(": its share of the traffic gets %d", status)
}

func isRedirect(f gatewayv1.HTTPRouteFilter) bool {
	return f.Type == gatewayv1.HTTPRouteFilterRequestRedirect
}

// mergeChoice puts the shares of one backend together.
func mergeChoice(choices []choice, c choice) []choice {
	for i := range choices {
		if o := &choices[i]; o.backend == c.backend && o.equals(&c.edits) && o.validation == c.validation &&
			o.http2 == c.http2 {
			choices[i].weight += c.weight
			return choices
		}
	}
	return append(choices, c)
}

// clusterName has a part for each setting that another rule may have otherwise for the same backend.
func (c choice) clusterName() string {
	name := c.backend.Cluster
	if c.http2 {
		name += "/h2c"
	}
	if c.balancing != ir.RoundRobin {
		name += "/" + string(c.balancing)
	}
	if c.tls != nil {
		name += "/tls" + c.validation + c.clientSuffix()
	}
	if c.noBudgetReason != "" {
		name += "/unbudgeted"
	}
	if variant := c.outcome.HostVariant(); variant != "" {
		name += "/hosts/" + variant
	}
	return name + c.limitSuffix()
}

// clientSuffix is the part of a cluster's name for the certificate that its hosts see.
func (c choice) clientSuffix() string {
	if c.tls == nil || c.tls.Client == nil {
		return ""
	}
	return "/client/" + c.tls.Client.Secret
}

// clusterNames are those of the clusters for all certificates that Gateways show its hosts.
func (c choice) clusterNames(clients []*ir.Certificate) (names []string) {
	if c.tls == nil || c.unseen {
		return []string{c.clusterName()}
	}
	for _, client := range clients {
		c.showClient(client)
		names = append(names, c.clusterName())
	}
	return names
}
