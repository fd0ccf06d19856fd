package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// The routes of connections and datagrams. They stand among HTTPRoutes, with their own kinds: their hostnames and
// backendRefs mean the same, and their rules match all that comes.

var tlsRouteKind = newStreamRouteKind(object.KindTLSRoute, func(r *gatewayv1.TLSRoute) streamRoute {
	s := streamRoute{r.TypeMeta, r.ObjectMeta, r.Spec.CommonRouteSpec, r.Spec.Hostnames, nil}
	for _, rule := range r.Spec.Rules {
		s.rules = append(s.rules, newStreamRule(rule.Name, rule.BackendRefs))
	}
	return s
}, "v1", "v1alpha3", "v1alpha2")

var tcpRouteKind = newStreamRouteKind(object.KindTCPRoute, func(r *gatewayv1.TCPRoute) streamRoute {
	s := streamRoute{r.TypeMeta, r.ObjectMeta, r.Spec.CommonRouteSpec, nil, nil}
	for _, rule := range r.Spec.Rules {
		s.rules = append(s.rules, newStreamRule(rule.Name, rule.BackendRefs))
	}
	return s
}, "v1", "v1alpha2")

var udpRouteKind = newStreamRouteKind(object.KindUDPRoute, func(r *gatewayv1.UDPRoute) streamRoute {
	s := streamRoute{r.TypeMeta, r.ObjectMeta, r.Spec.CommonRouteSpec, nil, nil}
	for _, rule := range r.Spec.Rules {
		s.rules = append(s.rules, newStreamRule(rule.Name, rule.BackendRefs))
	}
	return s
}, "v1", "v1alpha2")

// streamRoute is what the kinds have in common.
type streamRoute struct {
	kind   metav1.TypeMeta
	meta   metav1.ObjectMeta
	common gatewayv1.CommonRouteSpec
	hosts  []gatewayv1.Hostname
	rules  []gatewayv1.HTTPRouteRule
}

func newStreamRule(name *gatewayv1.SectionName, refs []gatewayv1.BackendRef) gatewayv1.HTTPRouteRule {
	rule := gatewayv1.HTTPRouteRule{Name: name}
	for _, ref := range refs {
		rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: ref})
	}
	return rule
}

// IsStreamRoute reports whether a kind of route is about connections or datagrams, which have no sessions.
func IsStreamRoute(kind string) bool {
	return kind == object.KindTLSRoute || kind == object.KindTCPRoute || kind == object.KindUDPRoute
}

// newStreamRouteKind makes a kind of what its objects have in common with others.
func newStreamRouteKind[T any](kind string, read func(*T) streamRoute, versions ...string) *Kind {
	return newKind(definition[T]{
		group: gatewayv1.GroupName, kind: kind, versions: versions, ownProxy: true, localFaults: true,
		fields: func() support.Fields { return streamRouteFields(kind) },
		checkUnverified: func(r *T) (errs field.ErrorList) {
			for i, rule := range read(r).rules {
				for j, ref := range rule.BackendRefs {
					errs = append(
						errs,
						checkWeight(field.NewPath("spec", "rules").Index(i).Child("backendRefs").Index(j), ref.Weight)...)
				}
			}
			return errs
		},
		convert: func(o *Object[T], into *Objects) {
			s := read(o.Value)
			route := &gatewayv1.HTTPRoute{TypeMeta: s.kind, ObjectMeta: s.meta}
			route.Spec = gatewayv1.HTTPRouteSpec{CommonRouteSpec: s.common, Hostnames: s.hosts, Rules: s.rules}
			into.Routes = append(into.Routes, withValue(o, route))
		},
	})
}

func streamRouteFields(kind string) support.Fields {
	hosts := support.Fields{}
	if kind == object.KindTLSRoute {
		hosts = support.All("spec.hostnames[]")
	}
	return support.Join(
		hosts,
		support.Fields{
			"spec.useDefaultGateways": support.Only("None"),
			"spec.rules[].name":       support.Ignored("is for policies, and none attaches to such a rule"),
		},
		support.Under("spec.parentRefs[]", support.All("group", "kind", "namespace", "name", "sectionName", "port")),
		support.Under("spec.rules[].backendRefs[]", support.All("group", "kind", "namespace", "name", "port", "weight")),
	)
}
