package serve

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/proxies"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// NewReadyListener gives the listener by which an Envoy says that it is ready, where it asks for one; nil for none.
func NewReadyListener(node *corev3.Node) (*xds.Resource, error) {
	packed, err := envoy.NewReadyListener(node)
	if packed == nil || err != nil {
		return nil, err
	}
	return xds.NewResource(xds.Listener, packed.Name, packed.Content), nil
}

// Ports gives where the listeners listen that a Gateway's proxies are served; it is not known before the first compilation.
func (s *Output) Ports(gateway string) (all []proxies.Port, known bool) {
	s.lock.Lock()
	of, known := s.published[gateway].of, s.published != nil
	s.lock.Unlock()
	if of == nil {
		return nil, known
	}
	for _, l := range of.Addresses {
		p := proxies.Port{Number: int32(l.At.Port()), Protocol: corev1.ProtocolTCP}
		if l.UDP {
			p.Protocol = corev1.ProtocolUDP
		}
		all = append(all, p)
	}
	return all, true
}
