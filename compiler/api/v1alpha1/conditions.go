package v1alpha1

import gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

// Conditions of GEP-713 that Gateway API has no constants for.
const (
	// ConditionProgrammed, on a policy, says whether what it asks for holds. Absent while it is not accepted.
	ConditionProgrammed gatewayv1.PolicyConditionType = "Programmed"
	// ReasonProgrammed: all of it holds.
	ReasonProgrammed gatewayv1.PolicyConditionReason = "Programmed"
	// ReasonPartiallyProgrammed: some of it is ignored, overridden or can't be supported; the message says what.
	ReasonPartiallyProgrammed gatewayv1.PolicyConditionReason = "PartiallyProgrammed"
	// ReasonOverridden, with status False: stronger policies leave nothing of it; the message names them.
	ReasonOverridden gatewayv1.PolicyConditionReason = "Overridden"

	// ConditionSessionPersistencePolicyAffected stands on the objects that a SessionPersistencePolicy has an effect on.
	ConditionSessionPersistencePolicyAffected = Group + "/SessionPersistencePolicyAffected"
	// ConditionLoadBalancerPolicyAffected stands on the objects that a LoadBalancerPolicy has an effect on.
	ConditionLoadBalancerPolicyAffected = Group + "/LoadBalancerPolicyAffected"
	// ConditionXBackendTrafficPolicyAffected stands on the objects that an XBackendTrafficPolicy has an effect on and, with
	// status False, on a Gateway on which one has none for want of room in its status, as the other two do.
	ConditionXBackendTrafficPolicyAffected = Group + "/XBackendTrafficPolicyAffected"

	// ConditionSessionsEnded stands on a route while an edit that ended sessions of its rules is not long ago: until the route's next
	// generation, and for a day at most. Its lastTransitionTime is when the last such edit took effect.
	ConditionSessionsEnded = Group + "/SessionsEnded"
	// ReasonSessionsEnded is its reason; the message says what has ended them.
	ReasonSessionsEnded = "SessionsEnded"
)

// ControllerName is who limpet is in the entries that it writes into status.
const ControllerName gatewayv1.GatewayController = "limpet.dev/gateway-controller"

// MaxAncestors is how many ancestors the API lets a policy's status have (GEP-713).
const MaxAncestors = 16
