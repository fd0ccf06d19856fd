package resource

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// BackendTLSPolicy is an admitted BackendTLSPolicy.
type BackendTLSPolicy = Object[gatewayv1.BackendTLSPolicy]

// backendTLSPolicyKind asks for TLS to backends. A fault in one makes its targets answer an error: what shall be secret
// is never sent in clear text.
var backendTLSPolicyKind = newKind(definition[gatewayv1.BackendTLSPolicy]{
	Traits: Traits{HasStatus: true},
	group:  gatewayv1.GroupName, kind: object.KindBackendTLSPolicy, versions: []string{"v1", "v1alpha3"}, ownProxy: true,
	localFaults: true,
	fields: func() support.Fields {
		return support.Join(
			support.Under("spec.targetRefs[]", support.All("group", "kind", "name", "sectionName")),
			support.Under("spec.validation", upstreamValidationFields()),
		)
	},
	list: func(o *Objects) *[]*BackendTLSPolicy { return &o.BackendTLS },
})

// upstreamValidationFields say whom hosts must be.
func upstreamValidationFields() support.Fields {
	return support.Join(
		support.Fields{"wellKnownCACertificates": support.Only("System")},
		support.All("hostname", "subjectAltNames[].type", "subjectAltNames[].hostname", "subjectAltNames[].uri"),
		support.Under("caCertificateRefs[]", support.All("group", "kind", "name")),
	)
}

// configMapKind is read for the certificates of authorities.
var configMapKind = newKind(definition[ConfigMap]{
	kind: object.KindConfigMap, versions: []string{"v1"}, nameRule: apivalidation.NameIsDNSSubdomain, loose: true,
	ownProxy: true,
	convert: func(c *Object[ConfigMap], _ *Objects) {
		c.Value.Authorities = c.Value.Data[authoritiesKey]
		c.Value.Data = nil
	},
	list: func(o *Objects) *[]*Object[ConfigMap] { return &o.ConfigMaps },
})

// authoritiesKey is where Gateway API looks for certificates of authorities.
const authoritiesKey = "ca.crt"

// ConfigMap is what limpet reads of that kind.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
	// Authorities are the certificates of authorities in it, in PEM; empty for none.
	Authorities string `json:"-"`
}
