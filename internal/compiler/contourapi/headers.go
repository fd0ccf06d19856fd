package contourapi

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// HeadersPolicy changes headers: it sets some, in place of what they were, and removes others.
type HeadersPolicy struct {
	Set    []HeaderValue `json:"set"`
	Remove []string      `json:"remove"`
}

// HeaderValue is a header's name and value.
type HeaderValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HeadersPolicies are those of a route, or of one of its services.
type HeadersPolicies struct {
	Request  *HeadersPolicy `json:"requestHeadersPolicy"`
	Response *HeadersPolicy `json:"responseHeadersPolicy"`
}

func headersPolicyFields() support.Fields {
	policy := support.All("set[].name", "set[].value", "remove[]")
	return support.Join(support.Under("requestHeadersPolicy", policy), support.Under("responseHeadersPolicy", policy))
}

// headerVariable matches what Contour has the proxy fill in.
var headerVariable = regexp.MustCompile(`%[A-Z_]+(\([^)]*\))?(:[0-9]+)?%`)

// validate checks the policies. Requests may get another Host.
func (p HeadersPolicies) validate(path *field.Path) field.ErrorList {
	return append(p.Request.validate(path.Child("requestHeadersPolicy"), true),
		p.Response.validate(path.Child("responseHeadersPolicy"), false)...)
}

func (p *HeadersPolicy) validate(path *field.Path, mayRewriteHost bool) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, h := range p.Set {
		at := path.Child("set").Index(i)
		if name := strings.ToLower(h.Name); seen[name] {
			errs = append(errs, field.Duplicate(at.Child("name"), h.Name))
		} else {
			seen[name] = true
		}
		if headerVariable.MatchString(h.Value) {
			errs = append(
				errs,
				support.Lacking(field.Invalid(at.Child("value"), h.Value, "not supported: variables of the proxy")),
			)
		}
		if isHost(h) && mayRewriteHost {
			if faults := validation.IsDNS1123Subdomain(h.Value); len(faults) > 0 {
				errs = append(errs, field.Invalid(at.Child("value"), h.Value, strings.Join(faults, "; ")))
			}
		}
	}
	return append(errs, foreign.ValidateModifier(path, p.toModifier(mayRewriteHost))...)
}

func isHost(h HeaderValue) bool { return strings.EqualFold(h.Name, "Host") }

// toModifier gives a policy as a filter, without the Host where that is rewritten.
func (p *HeadersPolicy) toModifier(rewritesHost bool) *gatewayv1.HTTPHeaderFilter {
	if p == nil {
		return nil
	}
	m := &gatewayv1.HTTPHeaderFilter{Remove: p.Remove}
	for _, h := range p.Set {
		if !rewritesHost || !isHost(h) {
			m.Set = append(m.Set, gatewayv1.HTTPHeader{Name: gatewayv1.HTTPHeaderName(h.Name), Value: h.Value})
		}
	}
	return m
}

// ToFilters gives the policies as filters.
func (p HeadersPolicies) ToFilters() (all []gatewayv1.HTTPRouteFilter) {
	if m := p.Request.toModifier(true); m != nil {
		all = append(
			all,
			gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: m},
		)
	}
	if m := p.Response.toModifier(false); m != nil {
		all = append(
			all,
			gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: m},
		)
	}
	if p.Request == nil {
		return all
	}
	if i := slices.IndexFunc(p.Request.Set, isHost); i >= 0 {
		host := gatewayv1.PreciseHostname(p.Request.Set[i].Value)
		all = append(all, gatewayv1.HTTPRouteFilter{
			Type: gatewayv1.HTTPRouteFilterURLRewrite, URLRewrite: &gatewayv1.HTTPURLRewriteFilter{Hostname: &host},
		})
	}
	return all
}

// filterNames are the paths of what HeadersPolicies are as filters.
var filterNames = regexp.MustCompile(
	`\.filters\[\d+\](?:\.(requestHeaderModifier|responseHeaderModifier|requestRedirect))?`,
)

// renameFilter gives the path of a filter as that of the policy that it was made of, or of what has the policy.
func renameFilter(path string) string {
	return filterNames.ReplaceAllStringFunc(path, func(filter string) string {
		switch {
		case strings.HasSuffix(filter, "requestHeaderModifier"):
			return ".requestHeadersPolicy"
		case strings.HasSuffix(filter, "responseHeaderModifier"):
			return ".responseHeadersPolicy"
		case strings.HasSuffix(filter, "requestRedirect"):
			return ".requestRedirectPolicy"
		default:
			return ""
		}
	})
}
