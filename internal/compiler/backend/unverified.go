package backend

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// NewUnverified makes an index for a control plane that finds Services and endpoints by itself, and judges references
// to them. A Service that is not in the input is taken to be there; endpoints are not looked at. References to the
// kinds of its own lead where they say.
func NewUnverified(objects *resource.Objects, own ...runtimeschema.GroupKind) *Index {
	x := NewIndex(objects, nil, nil, nil, &report.Report{})
	x.unverified, x.platformKinds = true, own
	return x
}

// isPlatformKind tells whether a reference is to one of the control plane's own kinds.
func (x *Index) isPlatformKind(ref gatewayv1.BackendRef) bool {
	return ref.Group != nil && ref.Kind != nil &&
		slices.Contains(x.platformKinds, runtimeschema.GroupKind{Group: string(*ref.Group), Kind: string(*ref.Kind)})
}

// resolvePlatformKind gives the object of an own kind that a reference means.
func (x *Index) resolvePlatformKind(namespace string, ref gatewayv1.BackendRef) *Backend {
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	referent := object.Ref{Kind: string(*ref.Kind), Namespace: namespace, Name: string(ref.Name)}
	name := strings.ToLower(referent.Kind) + "/" + referent.Key()
	if x.resolved[name] == nil {
		x.resolved[name] = &Backend{Identity: Identity{Name: name, Object: referent}}
	}
	return x.resolved[name]
}

// resolveUnverified gives the Service's port that a reference means.
func (x *Index) resolveUnverified(
	namespace string,
	path *field.Path,
	ref gatewayv1.BackendRef,
) (*Backend, *field.Error) {
	if ref.Port == nil {
		return nil, field.Required(path.Child("port"), "")
	}
	referent := object.Ref{Kind: object.KindService, Namespace: namespace, Name: string(ref.Name)}
	name := fmt.Sprintf("%s:%d", referent.Key(), *ref.Port)
	if known := x.resolved[name]; known != nil {
		return known, nil
	}
	b := &Backend{Identity: Identity{Name: name, Service: referent.Key(), Object: referent, Port: *ref.Port}}
	if service := x.services[referent.Key()]; service != nil {
		b.ClientIP = service.Value.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
		for _, p := range service.Value.Spec.Ports {
			if p.Port != b.Port {
				continue
			}
			if b.PortName == "" {
				b.PortName = p.Name
			}
			if p.AppProtocol != nil {
				b.Protocol = appProtocols[*p.AppProtocol]
			}
		}
	}
	x.resolved[name] = b
	return b, nil
}
