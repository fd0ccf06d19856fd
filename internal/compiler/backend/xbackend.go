package backend

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// An XBackend of the type EndpointSelector selects pods by their labels, and there are no pods in the input. What
// selects the same pods is known: a Service of the namespace with an equal selector, which is what GEP-4894 lets an
// implementation make for the purpose. Its EndpointSlices hold the pods' addresses, the XBackend the port. Slices that
// belong to no Service and bear all of the labels count too, for those who write them by hand. One of the type
// ExternalHostname leads to a name, as an ExternalName Service does, and by the same leave of the operator.

// xbackendProtocols are the values of an XBackend's protocol that are supported. HTTP leaves the version to the proxy.
var xbackendProtocols = map[string]Protocol{
	"HTTP": ProtocolUnset, "HTTP11": HTTP1, "HTTP2": HTTP2, "H2C": HTTP2, "GRPC": HTTP2, "WSS": HTTP1,
}

// xbackends are the XBackends of the input, and the EndpointSlices that their selectors may lead to.
type xbackends struct {
	objects   map[string]*resource.Object[resource.XBackend]
	selected  map[string][]*endpointSlice // by the selector of a Service
	ownerless map[string][]*endpointSlice // of no Service, by their namespace
	left      map[string][]*SelectedPod   // by the selector of a Service that no longer selects them
}

func indexXBackends(objects *resource.Objects, pods *Selection) *xbackends {
	if len(objects.Backends) == 0 {
		return &xbackends{}
	}
	x := &xbackends{
		objects:  map[string]*resource.Object[resource.XBackend]{},
		selected: map[string][]*endpointSlice{}, ownerless: map[string][]*endpointSlice{}, left: map[string][]*SelectedPod{},
	}
	for _, b := range objects.Backends {
		x.objects[b.Key()] = b
	}
	behind := map[string][]*endpointSlice{}
	for _, s := range objects.Slices {
		owner := s.Labels[discoveryv1.LabelServiceName]
		if owner == "" {
			x.ownerless[s.Namespace] = append(x.ownerless[s.Namespace], s)
		}
		behind[s.Namespace+"/"+owner] = append(behind[s.Namespace+"/"+owner], s)
	}
	for _, s := range objects.Services {
		if len(s.Value.Spec.Selector) > 0 {
			key := selectionKey(s.Namespace, s.Value.Spec.Selector)
			x.selected[key] = append(x.selected[key], behind[s.Key()]...)
			x.left[key] = append(x.left[key], pods.LeftBy(s.Key())...)
		}
	}
	return x
}

// selectionKey names what a selector selects.
func selectionKey(namespace string, labels map[string]string) string {
	var b strings.Builder
	b.WriteString(namespace)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(" " + name + "=" + labels[name])
	}
	return b.String()
}

// resolveXBackend follows a reference to an XBackend, which is in the route's namespace and has a port of its own
// (GEP-4894).
func (x *Index) resolveXBackend(namespace string, path *field.Path, ref gatewayv1.BackendRef) (*Backend, *field.Error) {
	key := namespace + "/" + string(ref.Name)
	b := x.xbackends.objects[key]
	switch {
	case ref.Namespace != nil && string(*ref.Namespace) != namespace:
		return nil, field.Forbidden(path.Child("namespace"), "an XBackend must be in the route's namespace")
	case b == nil:
		return nil, newNotFound(path.Child("name"), ref.Name,
			x.objects.Absence(object.Ref{Kind: object.KindXBackend, Namespace: namespace, Name: string(ref.Name)}))
	case ref.Port != nil:
		return nil, field.Invalid(
			path.Child("port"),
			*ref.Port,
			"must not be set for an XBackend, which has a port of its own",
		)
	case b.Value.Spec.EndpointSelector == nil && b.Value.Spec.ExternalHostname == nil || b.Value.Spec.Port.Number == 0:
		return nil, field.Invalid(path.Child("name"), ref.Name, "the XBackend leads to no host, or has no port.number")
	}
	number := b.Value.Spec.Port.Number
	if why := x.refuseHostname(b); why != "" {
		return nil, newNotFound(path.Child("name"), ref.Name, "XBackend "+key+" leads to a name, and "+why)
	}
	name := fmt.Sprintf("xbackend/%s:%d", key, number)
	if known := x.resolved[name]; known != nil {
		return known, nil
	}
	backend := &Backend{Identity: Identity{
		Name: name, Object: object.Ref{Kind: object.KindXBackend, Namespace: b.Namespace, Name: b.Name}, Port: number,
		Cluster: fmt.Sprintf("xbackend/%s/%d", key, number),
	}}
	if h := b.Value.Spec.ExternalHostname; h != nil {
		backend.Endpoints = []ir.Endpoint{newNamedEndpoint(normalizeName(h.Hostname), uint16(number), false)}
	} else {
		backend.Endpoints, backend.Unready = x.selectedEndpoints(b)
	}
	if p := b.Value.Spec.Protocol; p != nil {
		backend.Protocol = xbackendProtocols[*p]
	}
	x.resolved[name] = backend
	if !backend.Ready() {
		x.rep.Warn(report.BackendInvalid, b, field.Invalid(
			field.NewPath("spec", "endpointSelector", "matchLabels"),
			b.Value.Spec.EndpointSelector.MatchLabels,
			"no Service of the namespace with this very selector, and no EndpointSlice of its own with these labels, "+
				"has a ready endpoint: new requests for it get 503",
		))
	}
	return backend, nil
}

// refuseHostname says why an XBackend's name is not followed; empty for one that is, or for no name. A control plane
// follows what it likes.
func (x *Index) refuseHostname(b *resource.Object[resource.XBackend]) string {
	h := b.Value.Spec.ExternalHostname
	if h == nil || x.unverified {
		return ""
	}
	return x.places.refuseName(normalizeName(h.Hostname), uint16(b.Value.Spec.Port.Number))
}

// selectedEndpoints gives the endpoints behind a selector, of the first family that has any.
func (x *Index) selectedEndpoints(b *resource.Object[resource.XBackend]) (all []ir.Endpoint, unready []netip.AddrPort) {
	labels := b.Value.Spec.EndpointSelector.MatchLabels
	key := selectionKey(b.Namespace, labels)
	sources := slices.Clone(x.xbackends.selected[key])
	for _, s := range x.xbackends.ownerless[b.Namespace] {
		if hasLabels(s.Labels, labels) {
			sources = append(sources, s)
		}
	}
	for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		found := map[endpointKey]ir.Endpoint{}
		for _, s := range sources {
			if s.Value.AddressType == family {
				unready = append(unready, x.addSelected(found, s, b.Value.Spec.Port.Number)...)
			}
		}
		for _, pod := range x.xbackends.left[key] {
			endpoint := pod.endpointAt(b.Value.Spec.Port.Number)
			if pod.isOf(family) && x.places.refuse(pod.Namespace, endpoint.Address) == "" {
				addLeft(found, endpoint)
			}
		}
		if len(found) > 0 {
			return sortEndpoints(found), unready
		}
	}
	return nil, unready
}

// addSelected adds a slice's endpoints with an XBackend's port, and gives the addresses of those that do not serve.
func (x *Index) addSelected(
	found map[endpointKey]ir.Endpoint,
	s *endpointSlice,
	port int32,
) (unready []netip.AddrPort) {
	for i, e := range s.Value.Endpoints {
		draining, serves := readConditions(e.Conditions)
		endpoint := newEndpoint(s.Namespace, &e, port, draining)
		if !serves {
			unready = append(unready, endpoint.Address)
			continue
		}
		if why := x.places.refuse(s.Namespace, endpoint.Address); why != "" {
			refusedEndpoint{s, i, why}.report(x.rep)
			continue
		}
		addEndpoint(found, endpoint)
	}
	return unready
}

func hasLabels(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if got, has := labels[name]; !has || got != value {
			return false
		}
	}
	return true
}
