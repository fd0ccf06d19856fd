package resource

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// IstioGroup is the API group of Istio's routes.
const IstioGroup = "networking.istio.io"

// KindVirtualService is Istio's kind of route, and KindIstioGateway what its Gateway is called here, for Gateway API
// has a kind of that name.
const (
	KindVirtualService = "VirtualService"
	KindIstioGateway   = "IstioGateway"
)

// IstioGateway is what limpet reads of networking.istio.io Gateway: the proxies that it configures.
type IstioGateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		// Selector are labels that the proxies' pods have, in any namespace.
		Selector map[string]string `json:"selector"`
	} `json:"spec"`
}

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

// DestinationRule is a kind of which nothing is read: Istio alone carries it out, whatever sessions there are.
type DestinationRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

var istioVersions = []string{"v1", "v1beta1", "v1alpha3"}

// istioKinds are admitted where Istio serves the objects.
var istioKinds = map[string]kindSpec{
	"Gateway": {versions: istioVersions, store: func(a *admitter, d *read.Document) {
		storeLoosely(a, d, &a.objects.IstioGateways, func(o *IstioGateway) *metav1.ObjectMeta { return &o.ObjectMeta }, KindIstioGateway)
	}},
	KindVirtualService: {versions: istioVersions, store: func(a *admitter, d *read.Document) {
		storeLoosely(a, d, &a.objects.VirtualServices, func(o *VirtualService) *metav1.ObjectMeta { return &o.ObjectMeta }, KindVirtualService)
	}},
	"ServiceEntry": {versions: istioVersions, store: func(a *admitter, d *read.Document) {
		storeLoosely(a, d, &a.objects.ServiceEntries, func(o *ServiceEntry) *metav1.ObjectMeta { return &o.ObjectMeta }, "ServiceEntry")
	}},
	"DestinationRule": {versions: istioVersions, store: func(a *admitter, d *read.Document) {
		var rules []*Object[DestinationRule]
		storeLoosely(a, d, &rules, func(o *DestinationRule) *metav1.ObjectMeta { return &o.ObjectMeta }, "DestinationRule")
	}},
}

func init() {
	for name, k := range istioKinds {
		supportedKinds[schema.GroupKind{Group: IstioGroup, Kind: name}] = k
	}
}

// storeLoosely stores a document whose Go type has only the fields that limpet reads. The CRD has judged the others.
func storeLoosely[T any](a *admitter, d *read.Document, into *[]*Object[T], metaOf func(*T) *metav1.ObjectMeta, name string) {
	value := new(T)
	text, err := json.Marshal(d.Fields)
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		path, message := describeTypeError(err)
		a.rep.ErrorAt(d, path, message)
		return
	}
	meta := metaOf(value)
	*into = append(*into, &Object[T]{
		Document: d, Kind: name, Namespace: meta.Namespace, Name: meta.Name,
		Created: meta.CreationTimestamp.Time, Labels: meta.Labels, Value: value,
	})
}
