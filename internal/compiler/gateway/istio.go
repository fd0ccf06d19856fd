package gateway

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// istioKey keeps Istio's Gateways apart from Gateway API's of the same names.
func istioKey(key string) string { return "istio " + key }

// attachIstio adds Istio's Gateways to Gateway API's, and joins the VirtualServices that name them.
func (b *builder) attachIstio(objects *resource.Objects) {
	for i, g := range objects.IstioGateways {
		b.addIsolated(g.Value.Gateway, len(objects.Gateways)+i)
	}
	for _, v := range objects.VirtualServices {
		b.attachVirtualService(v.Value.Route, v.Value.Spec.Gateways, slices.Contains(v.Value.Spec.Hosts, anyHost))
	}
}

// attachVirtualService joins a VirtualService to the Gateways that it names. Without hostnames it is for every host, or a
// part of another one.
func (b *builder) attachVirtualService(route *Route, gateways []string, everyHost bool) {
	path := field.NewPath("spec", "gateways")
	switch {
	case len(route.Value.Spec.Hostnames) == 0 && !everyHost:
		b.rep.NotSupportedBy(
			route,
			"istio",
			"spec.hosts",
			"it has none: another VirtualService delegates to it, and Istio names its routes after that one's",
		)
		return
	case len(gateways) == 0:
		b.rep.NotSupportedBy(route, "istio", path.String(), sidecars)
	}
	for i, name := range gateways {
		at := path.Index(i).String()
		key := name
		if !strings.Contains(name, "/") {
			key = route.Namespace + "/" + name
		}
		listeners, known := b.listeners[istioKey(key)]
		switch {
		case name == resource.MeshGateway:
			b.rep.NotSupportedBy(route, "istio", at, sidecars)
		case !known:
			b.rep.WarnAt(
				route,
				at,
				fmt.Sprintf(
					"Not found: %q: there is no Gateway %s of %s in the input: nothing is written for its proxies",
					name,
					key,
					resource.IstioGroup,
				),
			)
		}
		for _, l := range listeners {
			l.join(route)
		}
	}
}

const sidecars = "sessions are kept at Gateways; for requests of the mesh's own workloads no plugin is written"
