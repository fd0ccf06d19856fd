package backendtls

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/pki"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

type service = resource.Object[corev1.Service]

func hasPort(s *service, name string) bool {
	return slices.ContainsFunc(s.Value.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == name })
}

// FindAuthorities gives the certificates of authorities in a Secret, by which a rule has backends verified, or says why
// there are none.
func (p *Policies) FindAuthorities(namespace, name string) (text, why string) {
	wanted := object.Ref{Kind: object.KindSecret, Namespace: namespace, Name: name}
	key := wanted.Key()
	if p == nil || p.secrets[key] == nil {
		return "", p.explainAbsence(wanted)
	}
	if text = pki.ParseAuthorities(p.secrets[key].Value.Authorities()); text == "" {
		return "", "Secret " + key + " has no certificates in PEM under the key ca.crt"
	}
	return text, ""
}

// explainAbsence says why a Secret is not among those that are admitted.
func (p *Policies) explainAbsence(secret object.Ref) string {
	why := resource.Absence(secret, false)
	if p != nil {
		why = p.absence(secret)
	}
	if _, absent := resource.ParseAbsence(why); absent {
		why += " (limpet serve reads those of the type kubernetes.io/tls)"
	}
	return why
}
