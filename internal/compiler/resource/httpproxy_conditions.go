package resource

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/re2"
)

// HTTPProxyHeaderCondition is on a header: that it is there, or what its value is, has in it, or matches as a whole.
type HTTPProxyHeaderCondition struct {
	Name     string `json:"name"`
	Present  bool   `json:"present"`
	Exact    string `json:"exact"`
	Contains string `json:"contains"`
	Regex    string `json:"regex"`
}

func (c HTTPProxyCondition) validate(path *field.Path) field.ErrorList {
	match := gatewayv1.HTTPRouteMatch{}
	switch {
	case c.Header != nil && c.Prefix+c.Exact != "" || c.Header == nil && (c.Prefix == "") == (c.Exact == ""):
		return field.ErrorList{field.Invalid(path, c.Prefix+c.Exact, "must have one of prefix, exact and header")}
	case c.Header != nil:
		return c.Header.validate(path.Child("header"))
	case !strings.HasPrefix(c.Prefix+c.Exact, "/"):
		return field.ErrorList{field.Invalid(path, c.Prefix+c.Exact, `must begin with "/"`)}
	}
	c.addTo(&match)
	return validateExpression(path, *match.Path.Type == gatewayv1.PathMatchRegularExpression, *match.Path.Value)
}

func (h *HTTPProxyHeaderCondition) validate(path *field.Path) field.ErrorList {
	said := 0
	for _, is := range []bool{h.Present, h.Exact != "", h.Contains != "", h.Regex != ""} {
		if is {
			said++
		}
	}
	if said != 1 {
		return field.ErrorList{field.Invalid(path, h.Name, "must have one of present, exact, contains and regex")}
	}
	if faults := validation.IsHTTPHeaderName(h.Name); len(faults) > 0 {
		return field.ErrorList{field.Invalid(path.Child("name"), h.Name, strings.Join(faults, "; "))}
	}
	match := h.toMatch()
	return validateExpression(path, *match.Type == gatewayv1.HeaderMatchRegularExpression, match.Value)
}

// validateExpression wants of an expression that Envoy takes it: for one that it does not it refuses all routes of the listener.
func validateExpression(path *field.Path, is bool, text string) field.ErrorList {
	if why := re2.Explain(text); is && why != "" {
		return field.ErrorList{field.Invalid(path, text, why)}
	}
	return nil
}

// addTo adds the condition to a match. Contour's prefixes don't stop at segments, so all but "/" are expressions.
func (c HTTPProxyCondition) addTo(match *gatewayv1.HTTPRouteMatch) {
	switch {
	case c.Header != nil:
		match.Headers = append(match.Headers, c.Header.toMatch())
	case c.Exact != "":
		match.Path = newPathMatch(gatewayv1.PathMatchExact, c.Exact)
	case c.Prefix == "/":
		match.Path = newPathMatch(gatewayv1.PathMatchPathPrefix, "/")
	default:
		match.Path = newPathMatch(gatewayv1.PathMatchRegularExpression, regexp.QuoteMeta(c.Prefix)+".*")
	}
}

func (h *HTTPProxyHeaderCondition) toMatch() gatewayv1.HTTPHeaderMatch {
	kind, value := gatewayv1.HeaderMatchRegularExpression, h.Regex
	switch {
	case h.Exact != "":
		kind, value = gatewayv1.HeaderMatchExact, h.Exact
	case h.Contains != "":
		value = ".*" + regexp.QuoteMeta(h.Contains) + ".*"
	case h.Present:
		value = ".*"
	}
	return gatewayv1.HTTPHeaderMatch{Type: &kind, Name: gatewayv1.HTTPHeaderName(h.Name), Value: value}
}
