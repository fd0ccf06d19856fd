package contourapi

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// HTTPProxyRedirect sends clients elsewhere: to another path as a whole, or with another text in the place of the
// condition's prefix.
type HTTPProxyRedirect struct {
	Scheme     *string `json:"scheme"`
	Hostname   *string `json:"hostname"`
	Port       *int32  `json:"port"`
	StatusCode *int    `json:"statusCode"`
	Path       *string `json:"path"`
	Prefix     *string `json:"prefix"`
}

// PathRewritePolicy changes the path that services see.
type PathRewritePolicy struct {
	ReplacePrefix []ReplacePrefix `json:"replacePrefix"`
}

// ReplacePrefix puts a text in the place of a condition's prefix: of that one, or of any if Prefix is empty.
type ReplacePrefix struct {
	Prefix      string `json:"prefix"`
	Replacement string `json:"replacement"`
}

func pathFields() support.Fields {
	return support.Join(
		support.Under("requestRedirectPolicy", support.All("scheme", "hostname", "port", "statusCode", "path", "prefix")),
		support.All("pathRewritePolicy.replacePrefix[].prefix", "pathRewritePolicy.replacePrefix[].replacement"),
	)
}

func (r *HTTPProxyRedirect) validate(path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if r.Path != nil && r.Prefix != nil {
		errs = append(errs, field.Forbidden(path.Child("prefix"), "a redirect has a path or a prefix, not both"))
	}
	for name, text := range map[string]*string{"path": r.Path, "prefix": r.Prefix} {
		if text != nil {
			errs = append(errs, validatePathText(path.Child(name), *text)...)
		}
	}
	if r.Scheme != nil && *r.Scheme != "http" && *r.Scheme != "https" {
		errs = append(errs, field.NotSupported(path.Child("scheme"), *r.Scheme, []string{"http", "https"}))
	}
	if r.Hostname != nil {
		for _, fault := range validation.IsDNS1123Subdomain(*r.Hostname) {
			errs = append(errs, field.Invalid(path.Child("hostname"), *r.Hostname, fault))
		}
	}
	if r.Port != nil {
		for _, fault := range validation.IsValidPortNum(int(*r.Port)) {
			errs = append(errs, field.Invalid(path.Child("port"), *r.Port, fault))
		}
	}
	if r.StatusCode != nil && !slices.Contains(foreign.RedirectCodes, *r.StatusCode) {
		errs = append(errs, field.Invalid(path.Child("statusCode"), *r.StatusCode, "must be the status of a redirect"))
	}
	return errs
}

// validatePathText wants of what becomes a path that it can be one.
func validatePathText(path *field.Path, text string) field.ErrorList {
	if !strings.HasPrefix(text, "/") || strings.ContainsFunc(text, isNoPathCharacter) {
		return field.ErrorList{field.Invalid(path, text, `must begin with "/", and have no space or control character`)}
	}
	return nil
}

func (r *HTTPProxyRoute) validatePaths(path *field.Path) field.ErrorList {
	errs := r.RequestRedirectPolicy.validate(path.Child("requestRedirectPolicy"))
	if r.RequestRedirectPolicy != nil && len(r.Services) > 0 {
		errs = append(errs, field.Forbidden(path.Child("services"), "a route redirects, or has services, not both"))
	}
	if r.PathRewritePolicy == nil {
		return errs
	}
	at, seen := path.Child("pathRewritePolicy", "replacePrefix"), map[string]bool{}
	if r.takesOtherPath() {
		errs = append(errs, field.Forbidden(at, "the route has no condition on a prefix"))
	}
	for i, p := range r.PathRewritePolicy.ReplacePrefix {
		if seen[p.Prefix] {
			errs = append(errs, field.Duplicate(at.Index(i).Child("prefix"), p.Prefix))
		}
		seen[p.Prefix] = true
		errs = append(errs, validatePathText(at.Index(i).Child("replacement"), p.Replacement)...)
	}
	return errs
}

// takesOtherPath reports whether the route's condition is on a path otherwise than by a prefix.
func (r *HTTPProxyRoute) takesOtherPath() bool {
	return slices.ContainsFunc(r.Conditions, func(c HTTPProxyCondition) bool { return c.Exact+c.Regex != "" })
}

// prefix is that of the route's condition.
func (r *HTTPProxyRoute) prefix() string {
	for _, c := range r.Conditions {
		if c.Prefix != "" {
			return c.Prefix
		}
	}
	return "/"
}

// replacement is what comes in the place of the route's prefix; empty for nothing.
func (r *HTTPProxyRoute) replacement() string {
	if r.PathRewritePolicy == nil {
		return ""
	}
	general := ""
	for _, p := range r.PathRewritePolicy.ReplacePrefix {
		switch p.Prefix {
		case "":
			general = p.Replacement
		case r.prefix():
			return p.Replacement
		}
	}
	return general
}

// isAlone reports whether no other route has a condition on the same prefix, with or without a slash at its end.
func (s *HTTPProxySpec) isAlone(r *HTTPProxyRoute) bool {
	same := 0
	for i := range s.Routes {
		other := &s.Routes[i]
		if !other.takesOtherPath() && trimSlashes(other.prefix()) == trimSlashes(r.prefix()) {
			same++
		}
	}
	return same == 1
}

func trimSlashes(prefix string) string { return strings.TrimRight(prefix, "/") }

// rewritesRoot reports whether a route puts a text in the place of the slash that all paths begin with.
func (s *HTTPProxySpec) rewritesRoot() bool {
	return slices.ContainsFunc(s.Routes, func(r HTTPProxyRoute) bool {
		redirects := r.RequestRedirectPolicy != nil && r.RequestRedirectPolicy.Prefix != nil
		return !r.takesOtherPath() && r.prefix() == "/" && (redirects || r.replacement() != "")
	})
}

// toMatches gives the route's conditions. Where its prefix is replaced, and it is alone with that, both end without a
// slash, as in Contour, which sees to it that /app comes from /old as /app/a does from /old/a.
func (s *HTTPProxySpec) toMatches(r *HTTPProxyRoute) []gatewayv1.HTTPRouteMatch {
	match := gatewayv1.HTTPRouteMatch{}
	for _, c := range r.Conditions {
		if c.Prefix != "" && r.replacement() != "" && s.isAlone(r) && trimSlashes(c.Prefix) != "" {
			c.Prefix = trimSlashes(c.Prefix)
		}
		c.addTo(&match)
	}
	isRoot := match.Path == nil || *match.Path.Type == gatewayv1.PathMatchPathPrefix
	if isRoot && s.rewritesRoot() {
		// all of them, so that their order stays
		match.Path = foreign.NewPathMatch(gatewayv1.PathMatchRegularExpression, "/.*")
	}
	if match.Path == nil && len(match.Headers)+len(match.QueryParams) == 0 {
		return nil
	}
	return []gatewayv1.HTTPRouteMatch{match}
}

// toPathFilters gives the route's redirect, and what it does to paths.
func (s *HTTPProxySpec) toPathFilters(r *HTTPProxyRoute) (all []gatewayv1.HTTPRouteFilter) {
	if to := r.RequestRedirectPolicy; to != nil {
		redirect := to.toRedirect(r.takesOtherPath())
		all = append(
			all,
			gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestRedirect, RequestRedirect: redirect},
		)
	}
	by := r.replacement()
	if by == "" {
		return all
	}
	if s.isAlone(r) && r.prefix() != "/" {
		by = cmp.Or(trimSlashes(by), "/")
	}
	rewrite := &gatewayv1.HTTPURLRewriteFilter{Path: newPrefixEdit(by)}
	return append(all, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterURLRewrite, URLRewrite: rewrite})
}

func newPrefixEdit(by string) *gatewayv1.HTTPPathModifier {
	return &gatewayv1.HTTPPathModifier{Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: &by}
}

// toRedirect gives the filter. Where no prefix is matched, the whole path is what goes.
func (r *HTTPProxyRedirect) toRedirect(whole bool) *gatewayv1.HTTPRequestRedirectFilter {
	f := &gatewayv1.HTTPRequestRedirectFilter{Scheme: r.Scheme, StatusCode: r.StatusCode}
	if r.Hostname != nil {
		host := gatewayv1.PreciseHostname(*r.Hostname)
		f.Hostname = &host
	}
	if r.Port != nil {
		port := *r.Port
		f.Port = &port
	}
	switch {
	case r.Path != nil:
		f.Path = &gatewayv1.HTTPPathModifier{Type: gatewayv1.FullPathHTTPPathModifier, ReplaceFullPath: r.Path}
	case r.Prefix != nil && whole:
		f.Path = &gatewayv1.HTTPPathModifier{Type: gatewayv1.FullPathHTTPPathModifier, ReplaceFullPath: r.Prefix}
	case r.Prefix != nil:
		f.Path = newPrefixEdit(*r.Prefix)
	}
	return f
}
