package istioapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// VirtualService is what limpet reads of that kind: where requests arrive, how they are told apart, where they go.
type VirtualService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Hosts []string `json:"hosts"`
		// Gateways are namespace/name, name or mesh. None means mesh.
		Gateways []string    `json:"gateways"`
		HTTP     []httpRoute `json:"http"`
	} `json:"spec"`
}

// mesh among the Gateways means every sidecar, and anyHost among the hosts every host.
const mesh, anyHost = "mesh", "*"

// httpRoute is one HTTP route. Exactly one of Route, Redirect, DirectResponse and Delegate is set.
type httpRoute struct {
	// Name begins the names of the proxy's routes; the name of the match follows.
	Name     string             `json:"name"`
	Match    []match            `json:"match"`
	Route    []routeDestination `json:"route"`
	Delegate any                `json:"delegate"`
	Mirror   *destination       `json:"mirror"`
	Mirrors  []routeDestination `json:"mirrors"`
	Retries  *struct {
		Attempts int32 `json:"attempts"`
	} `json:"retries"`
	CORSPolicy *struct {
		AllowHeaders     []gatewayv1.HTTPHeaderName `json:"allowHeaders"`
		ExposeHeaders    []gatewayv1.HTTPHeaderName `json:"exposeHeaders"`
		AllowCredentials *bool                      `json:"allowCredentials"`
	} `json:"corsPolicy"`
}

// match is one match of a route.
type match struct {
	Name string `json:"name"`
	// URI is one of three ways to compare text. Prefixes don't stop at segments of a path.
	URI *struct {
		Exact  string `json:"exact"`
		Prefix string `json:"prefix"`
		Regex  string `json:"regex"`
	} `json:"uri"`
	IgnoreURICase bool `json:"ignoreUriCase"`
}

// routeDestination is a backend and its share.
type routeDestination struct {
	Destination destination `json:"destination"`
	Weight      int32       `json:"weight"`
}

type destination struct {
	Host   string `json:"host"`
	Subset string `json:"subset"`
	Port   struct {
		Number int32 `json:"number"`
	} `json:"port"`
}

// Route is an HTTPRoute with the same rules.
type Route struct {
	gatewayv1.HTTPRoute
	// Rules have, for each rule, what Gateway API has no fields for.
	Rules []foreign.Rule
	// Unserved are the parts of the VirtualService that limpet does not serve.
	Unserved []foreign.Unserved
	// Path turns a field path of the HTTPRoute into one of the VirtualService.
	Path func(string) string
}

// Convert returns the HTTPRoute that stands for the VirtualService.
func (v *VirtualService) Convert() *Route {
	route := &Route{HTTPRoute: gatewayv1.HTTPRoute{TypeMeta: v.TypeMeta, ObjectMeta: v.ObjectMeta}}
	for _, h := range v.Spec.Hosts {
		if h != anyHost {
			route.Spec.Hostnames = append(route.Spec.Hostnames, gatewayv1.Hostname(h))
		}
	}
	for _, r := range v.Spec.HTTP {
		rule, more := r.convert()
		route.Spec.Rules, route.Rules = append(route.Spec.Rules, rule), append(route.Rules, more)
	}
	names := []string{
		"spec.rules", "spec.http", ".backendRefs", ".route", ".matches", ".match", ".retry", ".retries",
		"spec.hostnames", "spec.hosts", ".filters", "",
	}
	route.Path = strings.NewReplacer(append(names, v.addParents(route)...)...).Replace
	return route
}

const (
	sidecars  = "sessions are kept at Gateways; for requests of the mesh's own workloads no plugin is written"
	delegated = "it has none: another VirtualService delegates to it, and Istio names its routes after that one's"
)

// addParents sets a route's parentRefs. It returns pairs of paths: in the HTTPRoute, then in the VirtualService.
func (v *VirtualService) addParents(route *Route) (paths []string) {
	leave := func(path, why string) {
		route.Unserved = append(route.Unserved, foreign.Unserved{Path: path, Message: "not supported by istio: " + why})
	}
	switch {
	case len(route.Spec.Hostnames) == 0 && !slices.Contains(v.Spec.Hosts, anyHost):
		leave("spec.hosts", delegated)
		return nil
	case len(v.Spec.Gateways) == 0:
		leave("spec.gateways", sidecars)
	}
	for i, name := range v.Spec.Gateways {
		path := fmt.Sprintf("spec.gateways[%d]", i)
		if name == mesh {
			leave(path, sidecars)
			continue
		}
		group := gatewayv1.Group(Group)
		ref := gatewayv1.ParentReference{Group: &group, Name: gatewayv1.ObjectName(name)}
		if of, own, both := strings.Cut(name, "/"); both {
			namespace := gatewayv1.Namespace(of)
			ref.Namespace, ref.Name = &namespace, gatewayv1.ObjectName(own)
		}
		paths = append(paths, fmt.Sprintf("spec.parentRefs[%d]", len(route.Spec.ParentRefs)), path)
		route.Spec.ParentRefs = append(route.Spec.ParentRefs, ref)
	}
	return paths
}

func (r *httpRoute) convert() (rule gatewayv1.HTTPRouteRule, more foreign.Rule) {
	more.Delegates = r.Delegate != nil
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
		more.MatchNames = append(more.MatchNames, m.Name)
	}
	for _, d := range r.Route {
		weight := d.Weight
		if len(r.Route) == 1 && weight == 0 {
			weight = 100
		}
		ref := gatewayv1.BackendRef{BackendObjectReference: d.Destination.toReference(), Weight: &weight}
		rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: ref})
		more.Subsets = append(more.Subsets, d.Destination.Subset)
	}
	mirrors := r.Mirrors
	if r.Mirror != nil {
		mirrors = append(mirrors, routeDestination{Destination: *r.Mirror})
	}
	for _, d := range mirrors {
		rule.Filters = append(rule.Filters, gatewayv1.HTTPRouteFilter{
			Type:          gatewayv1.HTTPRouteFilterRequestMirror,
			RequestMirror: &gatewayv1.HTTPRequestMirrorFilter{BackendRef: d.Destination.toReference()},
		})
	}
	if c := r.CORSPolicy; c != nil {
		rule.Filters = append(
			rule.Filters,
			gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterCORS, CORS: &gatewayv1.HTTPCORSFilter{
				AllowHeaders: c.AllowHeaders, ExposeHeaders: c.ExposeHeaders, AllowCredentials: c.AllowCredentials,
			}},
		)
	}
	return rule, more
}

// toPathMatch returns the match's path. A prefix, which may end within a segment, becomes a regular expression. Where
// case does not count the match becomes the prefix /, which includes it.
func (m match) toPathMatch() *gatewayv1.HTTPPathMatch {
	switch {
	case m.URI == nil, m.URI.Prefix == "/", m.IgnoreURICase:
		return foreign.NewPathMatch(gatewayv1.PathMatchPathPrefix, "/")
	case m.URI.Exact != "":
		return foreign.NewPathMatch(gatewayv1.PathMatchExact, m.URI.Exact)
	case m.URI.Regex != "":
		return foreign.NewPathMatch(gatewayv1.PathMatchRegularExpression, m.URI.Regex)
	default:
		return foreign.NewPathMatch(gatewayv1.PathMatchRegularExpression, regexp.QuoteMeta(m.URI.Prefix)+".*")
	}
}

func (d *destination) toReference() gatewayv1.BackendObjectReference {
	group, kind, port := gatewayv1.Group(Group), gatewayv1.Kind(object.KindHostname), d.Port.Number
	return gatewayv1.BackendObjectReference{Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(d.Host), Port: &port}
}
