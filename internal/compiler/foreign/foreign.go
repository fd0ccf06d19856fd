// Package foreign has what routes of other APIs say that Gateway API has no fields for, and what their conversions
// share.
package foreign

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// Host is how a route attaches that names no parents: it has its host alone, on every listener that takes the host and
// does with clients' TLS what the route wants.
type Host struct {
	Name string
	// TLS is nil where any listener for HTTP will do.
	TLS *HostTLS
}

// HostTLS is who ends clients' TLS: the backends, or the proxy with the certificate of a Secret.
type HostTLS struct {
	Passthrough bool
	Secret      types.NamespacedName
}

// Unserved is what limpet does not serve, in the words of the document, and why.
type Unserved struct{ Path, Message string }

// Rule is what a rule says.
type Rule struct {
	// MatchNames are those of the matches, empty for none.
	MatchNames []string
	// Subsets are the names of the parts of their hosts that the backendRefs mean, empty for all.
	Subsets []string
	// Delegates says that another route object has the rule's routes.
	Delegates bool

	// OnlyTLS sends requests without TLS to https.
	OnlyTLS bool
	// EveryCondition has a match hold only if all of its entries for one header or parameter do; in Gateway API the first
	// counts.
	EveryCondition bool
	// RetryOn are the conditions on which a request is tried again, nil for the usual ones.
	RetryOn []string
	// Backends are of the backendRefs, and Mirror is of the mirror; empty for nothing.
	Backends []Backend
	Mirror   Backend
	// Balancing spreads requests, or connections, over the backends' hosts; nil leaves that to others.
	Balancing *Balancing
}

// Backend is how the hosts of a backendRef are spoken to.
type Backend struct {
	// HTTP2 is nil where the Service says it.
	HTTP2 *bool
	// Validation says whom hosts must be, and has TLS spoken to them.
	Validation *Validation
}

// Validation names the Secret with the authorities, in the route's namespace, and the names that a certificate must
// have one.
type Validation struct {
	CASecret string
	Names    []string
}

// Balancing is a policy that stands in the object, with the places of its parts.
type Balancing struct {
	v1alpha1.LoadBalancerPolicySpec
	// At is that of the strategy.
	At, HealthCheckAt, SlowStartAt *field.Path
}

// Backend gives what is said of a rule's backendRef at a place.
func (r *Rule) Backend(place int) Backend {
	if place >= len(r.Backends) {
		return Backend{}
	}
	return r.Backends[place]
}
