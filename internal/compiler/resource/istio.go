package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// IstioGroup is the API group of Istio's routes. Its kinds are admitted where Istio serves the objects (Options.Istio).
const IstioGroup = "networking.istio.io"

var istioVersions = []string{"v1", "v1beta1", "v1alpha3"}

var serviceEntryKind = newKind(definition[ServiceEntry]{
	group: IstioGroup, kind: object.KindServiceEntry, versions: istioVersions, loose: true,
	list: func(o *Objects) *[]*Object[ServiceEntry] { return &o.ServiceEntries },
})

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

// destinationRuleKind is read for nothing but its faults: Istio alone carries it out, whatever sessions there are.
var destinationRuleKind = newKind(definition[destinationRule]{
	group: IstioGroup, kind: "DestinationRule", versions: istioVersions, loose: true,
})

type destinationRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}
