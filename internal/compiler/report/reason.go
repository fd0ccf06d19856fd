package report

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// The reasons of policies' conditions (GEP-713), for Problem.Reason.
const (
	ReasonConflicted          = string(gatewayv1.PolicyReasonConflicted)
	ReasonInvalid             = string(gatewayv1.PolicyReasonInvalid)
	ReasonTargetNotFound      = string(gatewayv1.PolicyReasonTargetNotFound)
	ReasonPartiallyProgrammed = string(v1alpha1.ReasonPartiallyProgrammed)
)

// The reasons of problems with what objects of other namespaces have, too; they are not those of a condition.
const (
	// ReasonNameQualified: a cookie has another name than the one that is written.
	ReasonNameQualified = "NameQualified"
	// ReasonEqualMatch: a match gets no request of some host, for an equal one goes first.
	ReasonEqualMatch = "EqualMatch"
	// ReasonSessionWithheld: a rule goes without the session that it asks for.
	ReasonSessionWithheld = "SessionWithheld"
	// ReasonHostsWithheld: a route is not laid out to the more specific hostnames that one of its own covers.
	ReasonHostsWithheld = "HostsWithheld"
	// ReasonFallbackWithheld: the routes of a wider hostname are not laid out to one of the route's.
	ReasonFallbackWithheld = "FallbackWithheld"
)
