package policy

import (
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

type (
	sessionPolicy = v1alpha1.SessionPersistencePolicy
	trafficPolicy = gatewayxv1alpha1.XBackendTrafficPolicy
)

const (
	xGroup     = gatewayxv1alpha1.GroupName
	sessionKey = "sessionPersistence"
)
