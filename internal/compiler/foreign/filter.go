package foreign

import (
	"strings"

	"golang.org/x/net/http/httpguts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// NewPathMatch is a match of a path.
func NewPathMatch(kind gatewayv1.PathMatchType, value string) *gatewayv1.HTTPPathMatch {
	return &gatewayv1.HTTPPathMatch{Type: &kind, Value: &value}
}

// MaxWeight is that of a backendRef, which keeps sums of weights in bounds.
const MaxWeight = 1_000_000

// RedirectCodes are the statuses that redirects may have. The schema has them too.
var RedirectCodes = []int{301, 302, 303, 307, 308}

// ValidateModifier finds changes of headers that Envoy does not make.
func ValidateModifier(at *field.Path, m *gatewayv1.HTTPHeaderFilter) (errs field.ErrorList) {
	if m == nil {
		return nil
	}
	for i, h := range m.Set {
		errs = append(errs, validateHeader(at.Child("set").Index(i), string(h.Name), h.Value)...)
	}
	for i, h := range m.Add {
		errs = append(errs, validateHeader(at.Child("add").Index(i), string(h.Name), h.Value)...)
	}
	for i, name := range m.Remove {
		errs = append(errs, validateHeader(at.Child("remove").Index(i), name, "")...)
	}
	return errs
}

// ExplainMatched says why no match may ask for a header; nothing for most.
func ExplainMatched(name string) string {
	if strings.EqualFold(name, policyconfig.ShardHeader) {
		return "is not for rules to match: the proxy itself works by it"
	}
	return ""
}

// validateHeader finds what is wrong with a header that is to be changed. Those with which Envoys speak to one another
// would change what Envoy itself does with the request.
func validateHeader(at *field.Path, name, value string) field.ErrorList {
	lower := strings.ToLower(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return field.ErrorList{field.Invalid(at, name, "must be a header's name")}
	case lower == "host" || strings.HasPrefix(lower, "x-envoy-") || strings.HasPrefix(lower, "x-limpet-"):
		return field.ErrorList{field.Invalid(at, name, "is not for rules to change: the proxy itself works by it")}
	case !httpguts.ValidHeaderFieldValue(value):
		return field.ErrorList{field.Invalid(at.Child("value"), field.OmitValueType{}, "must be a header's value")}
	default:
		return nil
	}
}
