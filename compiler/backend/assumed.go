package backend

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/ladder"
	"github.com/limpet-proxy/limpet/compiler/report"
	"github.com/limpet-proxy/limpet/compiler/schema"
)

// NewAssumed makes an index for a control plane that finds Services and endpoints by itself, and judges references to
// them. A Service that is not in the input is taken to be there; endpoints are not looked at.
func NewAssumed(objects *schema.Objects) *Index {
	x := NewIndex(objects, &report.Report{})
	x.assumed = true
	return x
}

// assume gives the Service's port that a reference means.
func (x *Index) assume(namespace string, path *field.Path, ref gatewayv1.BackendRef) (*Backend, *field.Error) {
	if ref.Port == nil {
		return nil, field.Required(path.Child("port"), "")
	}
	object := ladder.Object{Kind: ladder.KindService, Namespace: namespace, Name: string(ref.Name)}
	name := fmt.Sprintf("%s:%d", object.Key(), *ref.Port)
	if known := x.resolved[name]; known != nil {
		return known, nil
	}
	b := &Backend{Name: name, Service: object.Key(), Object: object, Port: *ref.Port}
	if service := x.services[object.Key()]; service != nil {
		b.ClientIP = service.Value.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
		for _, p := range service.Value.Spec.Ports {
			if p.Port == b.Port && p.AppProtocol != nil {
				b.Protocol = protocols[*p.AppProtocol]
			}
		}
	}
	x.resolved[name] = b
	return b, nil
}
