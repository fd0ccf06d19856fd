package resource

import (
	"github.com/limpet-proxy/limpet/internal/compiler/istioapi"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

const istioGroup = istioapi.Group

// Istio's kinds are admitted where Istio serves the objects (Options.Istio).
var (
	virtualServiceKind = newKind(definition[istioapi.VirtualService]{
		group: istioGroup, kind: object.KindVirtualService, versions: istioapi.Versions, loose: true,
		prepare: dropCopies, convert: convertVirtualService,
	})
	istioGatewayKind = newKind(definition[istioapi.Gateway]{
		group: istioGroup, kind: object.KindGateway, as: object.KindIstioGateway, versions: istioapi.Versions, loose: true,
		convert: func(g *Object[istioapi.Gateway], into *Objects) {
			into.Gateways = append(into.Gateways, withValue(g, g.Value.Convert()))
		},
	})
	serviceEntryKind = newKind(definition[Host]{
		group: istioGroup, kind: "ServiceEntry", versions: istioapi.Versions, loose: true,
		list: func(o *Objects) *[]*Object[Host] { return &o.Hosts },
	})
	// A DestinationRule is read for nothing but its faults: Istio alone carries it out, whatever sessions there are.
	destinationRuleKind = newKind(definition[Platform]{
		group: istioGroup, kind: "DestinationRule", versions: istioapi.Versions, loose: true,
	})
)

// Host adds hosts to those that a control plane knows besides Services.
type Host = istioapi.ServiceEntry

// dropCopies takes out of a VirtualService what limpet has written into it, so that it may come from the cluster, with
// the weights that it has there. Findings count the others.
func dropCopies(a *admitter, d *read.Document) {
	if !istioapi.DropCopies(d.Fields) {
		return
	}
	if err := d.KeepJSON(); err != nil {
		a.rep.ErrorAt(report.InvalidField, d, "", err.Error())
	}
}

func convertVirtualService(v *Object[istioapi.VirtualService], into *Objects) {
	route := v.Value.Convert()
	v.Rename(route.Path)
	o := withValue(v, &route.HTTPRoute)
	o.RuleExtras, o.Unserved = route.Rules, route.Unserved
	into.Routes = append(into.Routes, o)
}

// withValue gives an object with another value in its place.
func withValue[T, V any](o *Object[T], value *V) *Object[V] {
	return &Object[V]{
		Document: o.Document, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		Created: o.Created, Labels: o.Labels, Value: value, Sessions: o.Sessions, Faults: o.Faults,
	}
}
