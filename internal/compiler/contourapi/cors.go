package contourapi

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// CORSPolicy says which sites' pages may send requests to any route of a host.
type CORSPolicy struct {
	AllowCredentials bool     `json:"allowCredentials"`
	AllowOrigin      []string `json:"allowOrigin"`
	AllowMethods     []string `json:"allowMethods"`
	AllowHeaders     []string `json:"allowHeaders"`
	ExposeHeaders    []string `json:"exposeHeaders"`
	// MaxAge is how long browsers remember it; empty leaves it to them.
	MaxAge string `json:"maxAge"`
}

func corsFields() support.Fields {
	return support.Under("corsPolicy", support.All(
		"allowCredentials", "allowOrigin[]", "allowMethods[]", "allowHeaders[]", "exposeHeaders[]", "maxAge"))
}

// corsValue is what Contour's CRD admits of methods and headers.
var corsValue = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$")

// anyOrigin is every site.
const anyOrigin = "*"

func (s *HTTPProxySpec) validateCORS(path *field.Path) field.ErrorList {
	if s.VirtualHost.CORS != nil && s.TCPProxy != nil {
		return field.ErrorList{field.Forbidden(path, "a tcpproxy's connections are not looked into")}
	}
	return s.VirtualHost.CORS.validate(path)
}

func (p *CORSPolicy) validate(path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	if len(p.AllowOrigin) == 0 {
		errs = append(errs, field.Required(path.Child("allowOrigin"), ""))
	}
	if len(p.AllowMethods) == 0 {
		errs = append(errs, field.Required(path.Child("allowMethods"), ""))
	}
	for i, o := range p.AllowOrigin {
		if !isOrigin(o) {
			errs = append(errs, support.Lacking(field.Invalid(path.Child("allowOrigin").Index(i), o,
				`must be "*" or scheme://host[:port]; expressions are not supported, for an HTTPRoute's CORS has none`)))
		}
	}
	for _, list := range []struct {
		name   string
		values []string
	}{{"allowMethods", p.AllowMethods}, {"allowHeaders", p.AllowHeaders}, {"exposeHeaders", p.ExposeHeaders}} {
		for i, value := range list.values {
			if !corsValue.MatchString(value) {
				errs = append(
					errs,
					field.Invalid(path.Child(list.name).Index(i), value, "must be a method or the name of a header"),
				)
			}
		}
	}
	return append(errs, validateMaxAge(path.Child("maxAge"), p.MaxAge)...)
}

// isOrigin reports whether it is every site, or one, as browsers write it.
func isOrigin(text string) bool {
	if text == anyOrigin {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != "" && text == u.Scheme+"://"+u.Host &&
		!strings.ContainsAny(u.Host, `*()[]|\^$ `)
}

// validateMaxAge wants whole seconds, as the header has them. Contour's 0 forbids to remember; an HTTPRoute can't say
// that.
func validateMaxAge(path *field.Path, text string) field.ErrorList {
	if text == "" {
		return nil
	}
	d, err := duration.Parse(text)
	switch {
	case text == "0" || err == nil && d == 0:
		return field.ErrorList{support.Lacking(field.Invalid(path, text,
			"not supported: an HTTPRoute's CORS lets browsers remember it for 1s at least"))}
	case err != nil:
		return field.ErrorList{field.Invalid(path, text, err.Error())}
	case d%time.Second != 0:
		return field.ErrorList{
			support.Lacking(field.Invalid(path, text, fmt.Sprintf("not supported: the header has whole seconds, not %s", d))),
		}
	}
	return nil
}

// toFilters gives the filter for a route of the host. Envoy redirects without a look at it, with Contour too.
func (p *CORSPolicy) toFilters(r *HTTPProxyRoute) []gatewayv1.HTTPRouteFilter {
	if p == nil || r.RequestRedirectPolicy != nil {
		return nil
	}
	f := &gatewayv1.HTTPCORSFilter{AllowCredentials: &p.AllowCredentials}
	for _, o := range p.AllowOrigin {
		f.AllowOrigins = append(f.AllowOrigins, gatewayv1.CORSOrigin(o))
	}
	for _, m := range p.AllowMethods {
		f.AllowMethods = append(f.AllowMethods, gatewayv1.HTTPMethodWithWildcard(m))
	}
	for _, h := range p.AllowHeaders {
		f.AllowHeaders = append(f.AllowHeaders, gatewayv1.HTTPHeaderName(h))
	}
	for _, h := range p.ExposeHeaders {
		f.ExposeHeaders = append(f.ExposeHeaders, gatewayv1.HTTPHeaderName(h))
	}
	if d, err := duration.Parse(p.MaxAge); err == nil {
		f.MaxAge = int32(d / time.Second)
	}
	return []gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterCORS, CORS: f}}
}
