// Package istioapi reads Istio's kinds: a VirtualService becomes an HTTPRoute, a Gateway one of Gateway API, and a
// ServiceEntry hosts. What Gateway API has no fields for stands beside it.
package istioapi

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Group is the API group of the kinds.
const Group = "networking.istio.io"

// Versions are those in which documents may write the kinds.
var Versions = []string{"v1", "v1beta1", "v1alpha3"}

// ServiceEntry is what limpet reads of that kind: the hosts that it adds, and their ports.
type ServiceEntry struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Hosts []string `json:"hosts"`
		Ports []struct {
			Number int32 `json:"number"`
		} `json:"ports"`
	} `json:"spec"`
}

// OnlyPort is the port of the hosts, 0 if they have several.
func (e *ServiceEntry) OnlyPort() int32 {
	if len(e.Spec.Ports) != 1 {
		return 0
	}
	return e.Spec.Ports[0].Number
}
