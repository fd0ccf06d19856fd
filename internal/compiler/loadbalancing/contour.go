package loadbalancing

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// contourObject is one of Contour's with a policy that has no request to hash: an HTTPProxy's tcpproxy, or an ExtensionService.
type contourObject interface {
	report.Subject
	Origin() object.Origin
}

// readUnhashed reads such a policy. What hashes requests becomes RoundRobin, so that the object goes on to serve (S55).
func (p *Policies) readUnhashed(o contourObject, written *resource.HTTPProxyLoadBalancerPolicy, at *field.Path) {
	if written == nil {
		return
	}
	at = at.Child("loadBalancerPolicy")
	spec := v1alpha1.LoadBalancerPolicySpec{Strategy: written.Strategy, RequestHashPolicies: written.RequestHashPolicies}
	if s := spec.Strategy; s != nil && (*s == v1alpha1.RequestHash || *s == v1alpha1.CookieStrategy) {
		p.rep.WarnForAt(o, report.ReasonPartiallyProgrammed, at.Child("strategy").String(), fmt.Sprintf(
			"ignored: %s is for HTTP routes, and here RoundRobin is used in its place", *s))
		return
	}
	ref := o.Origin().Ref
	p.unhashed[ref] = readPolicy(ref.String(), o, at, &spec, p.rep).strategy
}

// OfContour is the strategy for what one of Contour's objects leads to without looking at requests.
func (p *Policies) OfContour(o object.Ref) ir.Balancing { return p.unhashed[o] }
