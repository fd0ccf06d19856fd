package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

var xbackendKind = newKind(definition[XBackend]{
	Traits: Traits{HasStatus: true, Describable: true, Attachable: true},
	group:  gatewayxv1alpha1.GroupName, kind: object.KindXBackend, versions: []string{"v1alpha1"},
	fields: xbackendFields, prepare: readPort16, sessionPath: "spec." + sessionKey, checkUnverified: checkXBackend,
	list: func(o *Objects) *[]*Object[XBackend] { return &o.Backends },
})

// XBackend is that kind as Gateway API 1.7 has it (GEP-4894), whose own package needs a newer Go than ours, with the
// fields that are supported. Its sessionPersistence is among the object's Sessions.
type XBackend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              XBackendSpec `json:"spec"`
}

// XBackendSpec is what an XBackend leads to.
type XBackendSpec struct {
	// Type is EndpointSelector or ExternalHostname.
	Type string       `json:"type"`
	Port XBackendPort `json:"port"`
	// EndpointSelector selects pods. There are no pods in the input, only what Services select.
	EndpointSelector *EndpointSelector `json:"endpointSelector,omitempty"`
	Protocol         *string           `json:"protocol,omitempty"`
	TLS              *XBackendTLS      `json:"tls,omitempty"`
	// ExternalHostname is a host outside of the cluster, by its name.
	ExternalHostname *ExternalHostname `json:"externalHostname,omitempty"`
}

// XBackendPort is the port of the pods or the host; 0 if none is written, which the CRD allows.
type XBackendPort struct {
	Number int32 `json:"number,omitempty"`
}

// readPort16 reads the port of an XBackend as Gateway API 1.6 has it, where it has another name, and a name for people.
// All else of that release is in 1.7, too.
func readPort16(_ *admitter, d *read.Document) {
	spec, _ := d.Fields["spec"].(map[string]any)
	port, _ := spec["port"].(map[string]any)
	if number := port["port"]; number != nil && port["number"] == nil {
		spec["port"] = map[string]any{"number": number}
	}
}

// ExternalHostname is a DNS name.
type ExternalHostname struct {
	Hostname string `json:"hostname"`
}

// EndpointSelector selects the pods that have all of the labels.
type EndpointSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// XBackendTLS says whether TLS is spoken, and whom its hosts must be then.
type XBackendTLS struct {
	Mode       string                                `json:"mode"`
	Validation *gatewayv1.BackendTLSPolicyValidation `json:"validation,omitempty"`
	// ClientCertificateRef is for a control plane.
	ClientCertificateRef any `json:"clientCertificateRef,omitempty"`
}

// Validation says whom the hosts must be that TLS is spoken to; nil for no TLS.
func (b *XBackend) Validation() *gatewayv1.BackendTLSPolicyValidation {
	if b.Spec.TLS == nil || b.Spec.TLS.Mode != serverOnly {
		return nil
	}
	return b.Spec.TLS.Validation
}

// serverOnly is the mode of TLS in which hosts see no certificate.
const serverOnly = "ServerOnly"

func xbackendFields() support.Fields {
	return support.Join(
		support.Fields{
			"spec.type":                         support.Only("EndpointSelector", "ExternalHostname"),
			"spec.externalHostname.hostname":    {},
			"spec.port.number":                  {},
			"spec.endpointSelector.matchLabels": {},
			"spec.protocol":                     support.Only("HTTP", "HTTP11", "HTTP2", "H2C", "GRPC", "WSS"),
			"spec.tls.mode":                     support.Only("None", serverOnly),
		},
		support.Under("spec.tls.validation", upstreamValidationFields()),
		support.Under("spec."+sessionKey, sessionFields17()),
	)
}

// checkXBackend checks what the compiler relies on in an XBackend that is said to be admitted.
func checkXBackend(b *XBackend) field.ErrorList {
	return checkRange(field.NewPath("spec", "port", "number"), b.Spec.Port.Number, 0, 65535)
}
