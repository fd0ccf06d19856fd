package resource

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// MeshGateway is the name under which a VirtualService means every sidecar.
const MeshGateway = "mesh"

var virtualServiceKind = newKind(definition[VirtualService]{
	Traits: Traits{HasStatus: true, Describable: true, Attachable: true},
	group:  IstioGroup, kind: object.KindVirtualService, versions: istioVersions, loose: true,
	convert: func(v *Object[VirtualService], _ *Objects) { v.Value.Route = convertVirtualService(v) },
	list:    func(o *Objects) *[]*Object[VirtualService] { return &o.VirtualServices },
	sections: func(v *VirtualService) (names []string) {
		for _, r := range v.Spec.HTTP {
			if r.Name != "" {
				names = append(names, r.Name)
			}
		}
		return names
	},
})

// VirtualService is what limpet reads of that kind: where requests arrive, how they are told apart, where they go.
type VirtualService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Hosts []string `json:"hosts"`
		// Gateways are namespace/name or name, or MeshGateway; without any it is the mesh.
		Gateways []string     `json:"gateways"`
		HTTP     []IstioRoute `json:"http"`
	} `json:"spec"`

	// Route is an HTTPRoute with the same rules and no parents, for what decides about sessions.
	Route *Object[gatewayv1.HTTPRoute] `json:"-"`
}

// IstioRoute is one HTTP route of a VirtualService. Exactly one of Route, Redirect, DirectResponse and Delegate is set.
type IstioRoute struct {
	// Name is the name of the proxy's routes, with that of the match behind it.
	Name           string             `json:"name"`
	Match          []IstioMatch       `json:"match"`
	Route          []IstioDestination `json:"route"`
	Redirect       any                `json:"redirect"`
	DirectResponse any                `json:"directResponse"`
	Delegate       any                `json:"delegate"`
	Mirror         any                `json:"mirror"`
	Mirrors        []any              `json:"mirrors"`
	Retries        *struct {
		Attempts int32 `json:"attempts"`
	} `json:"retries"`
}

// IstioMatch is one match of a route.
type IstioMatch struct {
	Name          string            `json:"name"`
	URI           *IstioStringMatch `json:"uri"`
	IgnoreURICase bool              `json:"ignoreUriCase"`
}

// IstioStringMatch is one of three ways to compare text. Prefixes don't stop at segments of a path.
type IstioStringMatch struct {
	Exact  string `json:"exact"`
	Prefix string `json:"prefix"`
	Regex  string `json:"regex"`
}

// IstioDestination is a backend and its share.
type IstioDestination struct {
	Destination struct {
		Host   string `json:"host"`
		Subset string `json:"subset"`
		Port   struct {
			Number int32 `json:"number"`
		} `json:"port"`
	} `json:"destination"`
	Weight int32 `json:"weight"`
}

// virtualServiceNames are the names of an HTTPRoute's fields in a VirtualService.
var virtualServiceNames = strings.NewReplacer(
	"spec.rules",
	"spec.http",
	".backendRefs",
	".route",
	".matches",
	".match",
	".retry",
	".retries",
	"spec.hostnames",
	"spec.hosts",
)

// convertVirtualService gives a VirtualService as an HTTPRoute with the same rules.
func convertVirtualService(o *Object[VirtualService]) *Object[gatewayv1.HTTPRoute] {
	route := &gatewayv1.HTTPRoute{TypeMeta: o.Value.TypeMeta, ObjectMeta: o.Value.ObjectMeta}
	for _, h := range o.Value.Spec.Hosts {
		if h != "*" {
			route.Spec.Hostnames = append(route.Spec.Hostnames, gatewayv1.Hostname(h))
		}
	}
	for _, r := range o.Value.Spec.HTTP {
		route.Spec.Rules = append(route.Spec.Rules, r.toRule())
	}
	o.Rename(virtualServiceNames.Replace)
	return &Object[gatewayv1.HTTPRoute]{
		Document: o.Document, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		Created: o.Created, Labels: o.Labels, Value: route,
	}
}

func (r IstioRoute) toRule() gatewayv1.HTTPRouteRule {
	rule := gatewayv1.HTTPRouteRule{}
	if r.Name != "" {
		name := gatewayv1.SectionName(r.Name)
		rule.Name = &name
	}
	if r.Retries != nil {
		attempts := int(r.Retries.Attempts)
		rule.Retry = &gatewayv1.HTTPRouteRetry{Attempts: &attempts}
	}
	for _, m := range r.Match {
		rule.Matches = append(rule.Matches, gatewayv1.HTTPRouteMatch{Path: m.toPathMatch()})
	}
	for _, d := range r.Route {
		rule.BackendRefs = append(rule.BackendRefs, d.toBackendRef(len(r.Route) == 1))
	}
	return rule
}

// toPathMatch is the match's path; where case does not count, or a prefix may end within a segment, it is an expression.
func (m IstioMatch) toPathMatch() *gatewayv1.HTTPPathMatch {
	switch {
	case m.URI == nil, m.URI.Prefix == "/", m.IgnoreURICase:
		return newPathMatch(gatewayv1.PathMatchPathPrefix, "/")
	case m.URI.Exact != "":
		return newPathMatch(gatewayv1.PathMatchExact, m.URI.Exact)
	case m.URI.Regex != "":
		return newPathMatch(gatewayv1.PathMatchRegularExpression, m.URI.Regex)
	default:
		return newPathMatch(gatewayv1.PathMatchRegularExpression, regexp.QuoteMeta(m.URI.Prefix)+".*")
	}
}

func (d IstioDestination) toBackendRef(alone bool) gatewayv1.HTTPBackendRef {
	group, kind, name := gatewayv1.Group(IstioGroup), gatewayv1.Kind(object.KindHostname), d.Destination.Host
	if d.Destination.Subset != "" {
		kind, name = object.KindSubset, d.Destination.Subset+"|"+name
	}
	weight, port := d.Weight, d.Destination.Port.Number
	if alone && weight == 0 {
		weight = 100
	}
	var ref gatewayv1.HTTPBackendRef
	ref.Group, ref.Kind, ref.Name, ref.Port, ref.Weight = &group, &kind, gatewayv1.ObjectName(name), &port, &weight
	return ref
}
