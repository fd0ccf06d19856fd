package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// XBackend is that kind as Gateway API 1.7 has it (GEP-4894), whose own package needs a newer Go than ours, with the
// fields that are carried. Its sessionPersistence is among the object's Sessions.
type XBackend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              XBackendSpec `json:"spec"`
}

// XBackendSpec is what an XBackend leads to.
type XBackendSpec struct {
	// Type is EndpointSelector; the other one, ExternalHostname, is not carried.
	Type string       `json:"type"`
	Port XBackendPort `json:"port"`
	// EndpointSelector selects pods. There are no pods in the input, only what Services select.
	EndpointSelector *EndpointSelector `json:"endpointSelector,omitempty"`
	Protocol         *string           `json:"protocol,omitempty"`
	TLS              *XBackendTLS      `json:"tls,omitempty"`
}

// XBackendPort is the port of the pods; 0 if none is written, which the CRD allows.
type XBackendPort struct {
	Number int32 `json:"number,omitempty"`
}

// EndpointSelector selects the pods that have all of the labels.
type EndpointSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// XBackendTLS says whether TLS is spoken; None is what is carried.
type XBackendTLS struct {
	Mode string `json:"mode"`
}
