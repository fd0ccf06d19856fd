package loadbalancing

import (
	"fmt"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// unhashedObject is one with a policy that has no request to hash: a route of connections, or what stands for a
// Service.
type unhashedObject interface {
	report.Subject
	Origin() object.Origin
}

// readUnhashed reads such a policy. What hashes requests becomes RoundRobin, so that the object goes on to serve (S55).
func (p *Policies) readUnhashed(o unhashedObject, written *foreign.Balancing) {
	if written == nil {
		return
	}
	if s := written.Strategy; s != nil && (*s == v1alpha1.RequestHash || *s == v1alpha1.CookieStrategy) {
		p.rep.WarnForAt(
			report.BalancingNotHonoured,
			o,
			report.ReasonPartiallyProgrammed,
			written.At.Child("strategy").String(),
			fmt.Sprintf(
				"ignored: %s is for HTTP routes, and here RoundRobin is used in its place", *s),
		)
		return
	}
	ref := o.Ref()
	p.unhashed[ref] = readPolicy(ref.String(), o, written.At, &written.LoadBalancerPolicySpec, p.rep).strategy
}

// Unhashed is the strategy for what such an object leads to.
func (p *Policies) Unhashed(o object.Ref) ir.Balancing { return p.unhashed[o] }
