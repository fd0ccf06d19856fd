package contourapi

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/re2"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// HTTPProxyValueCondition is on a header, or a parameter of the query: that it is there, or what its value is, has in
// it, begins or ends with, or matches as a whole.
type HTTPProxyValueCondition struct {
	Name     string `json:"name"`
	Present  bool   `json:"present"`
	Exact    string `json:"exact"`
	Contains string `json:"contains"`
	Regex    string `json:"regex"`
	// Prefix and Suffix are for parameters.
	Prefix string `json:"prefix"`
	Suffix string `json:"suffix"`
	// IgnoreCase is for all but Regex.
	IgnoreCase bool `json:"ignoreCase"`
}

func valueConditionFields() support.Fields {
	return support.All("name", "present", "exact", "contains", "regex", "ignoreCase")
}

func (c *HTTPProxyCondition) validate(path *field.Path) field.ErrorList {
	match := gatewayv1.HTTPRouteMatch{}
	text, count := c.Prefix+c.Exact+c.Regex, 0
	for _, is := range []bool{c.Prefix != "", c.Exact != "", c.Regex != "", c.Header != nil, c.QueryParameter != nil} {
		if is {
			count++
		}
	}
	switch {
	case count != 1:
		return field.ErrorList{field.Invalid(path, text, "must have one of prefix, exact, regex, header and queryParameter")}
	case c.Header != nil:
		return c.Header.validate(path.Child("header"), validateHeaderName)
	case c.QueryParameter != nil:
		return c.QueryParameter.validate(path.Child("queryParameter"), validateParameterName)
	case !strings.HasPrefix(text, "/"):
		return field.ErrorList{field.Invalid(path, text, `must begin with "/"`)}
	}
	c.addTo(&match)
	return validateExpression(path, *match.Path.Type == gatewayv1.PathMatchRegularExpression, *match.Path.Value)
}

func validateHeaderName(name string) []string {
	if why := foreign.ExplainMatched(name); why != "" {
		return []string{why}
	}
	return validation.IsHTTPHeaderName(name)
}

func validateParameterName(name string) []string {
	if name == "" {
		return []string{"must have a name"}
	}
	return nil
}

func (h *HTTPProxyValueCondition) validate(path *field.Path, judge func(name string) []string) field.ErrorList {
	count := 0
	for _, is := range []bool{h.Present, h.Exact != "", h.Contains != "", h.Regex != "", h.Prefix != "", h.Suffix != ""} {
		if is {
			count++
		}
	}
	if count != 1 {
		return field.ErrorList{field.Invalid(path, h.Name,
			"must have one of present, exact, contains, regex, and of a parameter prefix and suffix")}
	}
	if faults := judge(h.Name); len(faults) > 0 {
		return field.ErrorList{field.Invalid(path.Child("name"), h.Name, strings.Join(faults, "; "))}
	}
	regex, value := h.toExpression()
	return validateExpression(path, regex, value)
}

// validateExpression wants of an expression that Envoy takes it: for one that it does not it refuses all routes of the
// listener.
func validateExpression(path *field.Path, is bool, text string) field.ErrorList {
	if why := re2.Explain(text); is && why != "" {
		return field.ErrorList{field.Invalid(path, text, why)}
	}
	return nil
}

// addTo adds the condition to a match. Contour's prefixes don't stop at segments, so all but "/" are expressions.
func (c *HTTPProxyCondition) addTo(match *gatewayv1.HTTPRouteMatch) {
	switch {
	case c.Header != nil:
		match.Headers = append(match.Headers, c.Header.toHeaderMatch())
	case c.QueryParameter != nil:
		match.QueryParams = append(match.QueryParams, c.QueryParameter.toParameterMatch())
	case c.Exact != "":
		match.Path = foreign.NewPathMatch(gatewayv1.PathMatchExact, c.Exact)
	case c.Regex != "":
		match.Path = foreign.NewPathMatch(gatewayv1.PathMatchRegularExpression, c.Regex)
	case c.Prefix == "/":
		match.Path = foreign.NewPathMatch(gatewayv1.PathMatchPathPrefix, "/")
	default:
		match.Path = foreign.NewPathMatch(gatewayv1.PathMatchRegularExpression, regexp.QuoteMeta(c.Prefix)+".*")
	}
}

// toExpression gives what the value must be: exactly, or by an expression for all of it.
func (h *HTTPProxyValueCondition) toExpression() (regex bool, value string) {
	quote := func(text string) string {
		if h.IgnoreCase {
			return "(?i:" + regexp.QuoteMeta(text) + ")"
		}
		return regexp.QuoteMeta(text)
	}
	switch {
	case h.Exact != "" && !h.IgnoreCase:
		return false, h.Exact
	case h.Exact != "":
		return true, quote(h.Exact)
	case h.Contains != "":
		return true, ".*" + quote(h.Contains) + ".*"
	case h.Prefix != "":
		return true, quote(h.Prefix) + ".*"
	case h.Suffix != "":
		return true, ".*" + quote(h.Suffix)
	case h.Present:
		return true, ".*"
	default:
		return true, h.Regex
	}
}

func (h *HTTPProxyValueCondition) toHeaderMatch() gatewayv1.HTTPHeaderMatch {
	kind := gatewayv1.HeaderMatchExact
	regex, value := h.toExpression()
	if regex {
		kind = gatewayv1.HeaderMatchRegularExpression
	}
	return gatewayv1.HTTPHeaderMatch{Type: &kind, Name: gatewayv1.HTTPHeaderName(h.Name), Value: value}
}

func (h *HTTPProxyValueCondition) toParameterMatch() gatewayv1.HTTPQueryParamMatch {
	kind := gatewayv1.QueryParamMatchExact
	regex, value := h.toExpression()
	if regex {
		kind = gatewayv1.QueryParamMatchRegularExpression
	}
	return gatewayv1.HTTPQueryParamMatch{Type: &kind, Name: gatewayv1.HTTPHeaderName(h.Name), Value: value}
}
