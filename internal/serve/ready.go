package serve

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// NewReadyListener returns the listener on which an Envoy says that it is ready, if the Envoy asks for one; else nil.
func NewReadyListener(node *corev3.Node) (*xds.Resource, error) {
	packed, err := envoy.NewReadyListener(node)
	if packed == nil || err != nil {
		return nil, err
	}
	return xds.NewResource(xds.Listener, packed.Name, packed.Content), nil
}
