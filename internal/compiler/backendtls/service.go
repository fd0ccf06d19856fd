package backendtls

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

type service = resource.Object[corev1.Service]

func hasPort(s *service, name string) bool {
	return slices.ContainsFunc(s.Value.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == name })
}
