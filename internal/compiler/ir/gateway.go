package ir

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Gateway is a Gateway object of the input: Gateway API's, or another API's.
type Gateway struct {
	Object
	// Class is the name of its GatewayClass; empty for one of another API.
	Class string
	// Parameters is what its infrastructure is made by: the Gateway's own parametersRef, else its class's; nil for none.
	Parameters *ParametersRef
	// Selector has the labels of the proxies' pods, for a Gateway of another API; nil for Gateway API's.
	Selector map[string]string
	// Listeners are all that it has, in its own order.
	Listeners []*GatewayListener
}

// ParametersRef leads to an object of the control plane's that says how proxies are run.
type ParametersRef struct {
	object.Ref
	// OfClass says that the Gateway's class has the reference.
	OfClass bool
}

// GatewayListener is a listener of a Gateway.
type GatewayListener struct {
	Gateway  *Gateway
	Name     string
	Port     int32
	Protocol gatewayv1.ProtocolType
}

// Key names the listener: namespace/gateway/name.
func (l *GatewayListener) Key() string { return l.Gateway.Key() + "/" + l.Name }
