package serve

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"
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
	for _, packed := range of.Listeners {
		l := &listenerv3.Listener{}
		if proto.Unmarshal(packed.Content, l) != nil {
			continue
		}
		at := l.GetAddress().GetSocketAddress()
		p := proxies.Port{Number: int32(at.GetPortValue()), Protocol: corev1.ProtocolTCP} //nolint:gosec // it is a port
		if at.GetProtocol() == corev3.SocketAddress_UDP {
			p.Protocol = corev1.ProtocolUDP
		}
		if p.Number > 0 {
			all = append(all, p)
		}
	}
	return all, true
}
