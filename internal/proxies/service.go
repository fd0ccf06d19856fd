package proxies

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

func (r *renderer) newService() *corev1.Service {
	own := r.Config.Service
	if own == nil {
		own = &v1alpha1.ProxyService{}
	}
	s := &corev1.Service{
		TypeMeta: typeMeta("v1", "Service"), ObjectMeta: r.newMeta(own.Labels, own.Annotations),
		Spec: corev1.ServiceSpec{
			Type:           corev1.ServiceTypeLoadBalancer,
			Selector:       r.newSelector(),
			IPFamilyPolicy: own.IPFamilyPolicy,
		},
	}
	if own.Type != nil {
		s.Spec.Type = *own.Type
	}
	for _, p := range r.Ports {
		name := fmt.Sprintf("tcp-%d", p.Number)
		if p.Protocol == corev1.ProtocolUDP {
			name = fmt.Sprintf("udp-%d", p.Number)
		}
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: name, Port: p.Number, Protocol: p.Protocol, TargetPort: intstr.FromInt32(p.Number),
		})
	}
	if own.ExternalTrafficPolicy != nil && s.Spec.Type != corev1.ServiceTypeClusterIP {
		s.Spec.ExternalTrafficPolicy = *own.ExternalTrafficPolicy
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		s.Spec.LoadBalancerClass, s.Spec.LoadBalancerSourceRanges = own.LoadBalancerClass, own.LoadBalancerSourceRanges
		if addresses := r.Gateway.Spec.Addresses; len(addresses) > 0 {
			s.Spec.LoadBalancerIP = addresses[0].Value
		}
	}
	return s
}

// ListPorts gives the ports of a Gateway's own listeners together with others, each once and in order.
func ListPorts(g *gatewayv1.Gateway, others []Port) []Port {
	all := slices.Clone(others)
	for _, l := range g.Spec.Listeners {
		p := Port{l.Port, corev1.ProtocolTCP}
		if l.Protocol == gatewayv1.UDPProtocolType {
			p.Protocol = corev1.ProtocolUDP
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Port) int {
		if a.Number != b.Number {
			return int(a.Number - b.Number)
		}
		return len(a.Protocol) - len(b.Protocol) + slices.Compare([]byte(a.Protocol), []byte(b.Protocol))
	})
	return slices.Compact(all)
}
