package resource

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

var httpRouteKind = newKind(definition[gatewayv1.HTTPRoute]{
	Traits: Traits{HasStatus: true, Describable: true, Attachable: true},
	group:  gatewayv1.GroupName, kind: object.KindHTTPRoute, versions: []string{"v1", "v1beta1"},
	fields: func() support.Fields {
		return support.Join(routeFields(httpMatches()), support.Under("spec.rules[]", support.All(
			"timeouts.request", "timeouts.backendRequest", "retry.codes[]", "retry.attempts", "retry.backoff",
		)), support.Under("spec.rules[].filters[]", httpFilterFields()),
			support.Under("spec.rules[].backendRefs[].filters[]", support.Fields{
				"type":                support.Only("RequestHeaderModifier", "ResponseHeaderModifier", "URLRewrite"),
				"urlRewrite.hostname": {},
			}))
	},
	sessionPath: "spec.rules[]." + sessionKey, localFaults: true, checkUnverified: checkHTTPRoute,
	findFaults: func(r *Object[gatewayv1.HTTPRoute]) []Fault { return findRouteFaults(r.Value, "path") },
	list:       func(o *Objects) *[]*Object[gatewayv1.HTTPRoute] { return &o.Routes },
	sections: func(r *gatewayv1.HTTPRoute) (names []string) {
		for _, rule := range r.Spec.Rules {
			if rule.Name != nil {
				names = append(names, string(*rule.Name))
			}
		}
		return names
	},
})

// routeFields are those of a kind of route, whose matches differ.
func routeFields(matches support.Fields) support.Fields {
	return support.Join(
		support.Fields{
			"spec.parentRefs[].group": {},
			"spec.parentRefs[].kind":  {},
			"spec.useDefaultGateways": support.Only("None"),
		},
		support.Under("spec.parentRefs[]", support.All("namespace", "name", "sectionName", "port")),
		support.All("spec.hostnames[]", "spec.rules[].name"),
		support.Under("spec.rules[].backendRefs[]", support.All("group", "kind", "namespace", "name", "port", "weight")),
		support.Under("spec.rules[].matches[]", matches),
		support.Under("spec.rules[].matches[].headers[]", support.All("type", "name", "value")),
		support.Under("spec.rules[].filters[]", support.Join(
			headerFilterFields(),
			support.Fields{"type": support.Only("RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror")},
			support.Under("requestMirror", support.All("percent", "fraction.numerator", "fraction.denominator")),
			support.Under("requestMirror.backendRef", support.All("group", "kind", "namespace", "name", "port")),
		)),
		support.Under("spec.rules[].backendRefs[].filters[]", support.Join(
			headerFilterFields(), support.Fields{"type": support.Only("RequestHeaderModifier", "ResponseHeaderModifier")},
		)),
		support.Under("spec.rules[]."+sessionKey, support.Join(sessionFields16(), sessionFields17())),
	)
}

// headerFilterFields are those of the filters that change headers.
func headerFilterFields() support.Fields {
	header := support.All("name", "value")
	modifier := support.Join(support.Under("set[]", header), support.Under("add[]", header), support.All("remove[]"))
	return support.Join(
		support.Under("requestHeaderModifier", modifier),
		support.Under("responseHeaderModifier", modifier),
	)
}

// httpFilterFields are the filters that HTTPRoute alone has.
func httpFilterFields() support.Fields {
	path := support.Under("path", support.All("type", "replaceFullPath", "replacePrefixMatch"))
	return support.Join(
		support.Fields{"type": support.Only(
			"RequestHeaderModifier",
			"ResponseHeaderModifier",
			"RequestMirror",
			"RequestRedirect",
			"URLRewrite",
			"CORS",
			"ExternalAuth",
		)},
		support.Under("requestRedirect", support.Join(path, support.All("scheme", "hostname", "port", "statusCode"))),
		support.Under("urlRewrite", support.Join(path, support.All("hostname"))),
		support.Under("cors", support.All(
			"allowOrigins[]", "allowCredentials", "allowMethods[]", "allowHeaders[]", "exposeHeaders[]", "maxAge")),
		support.Under("externalAuth.backendRef", support.All("group", "kind", "namespace", "name", "port")),
		support.Under("externalAuth", support.All(
			"protocol", "grpc", "http.path", "http.allowedHeaders[]", "http.allowedResponseHeaders[]", "forwardBody.maxSize")),
	)
}

func httpMatches() support.Fields {
	return support.Join(
		support.Fields{
			"path.type":  {},
			"path.value": {},
			"method":     support.Only("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"),
		},
		support.Under("queryParams[]", support.All("type", "name", "value")),
	)
}

// checkHTTPRoute checks what the compiler relies on in an HTTPRoute that is said to be admitted.
func checkHTTPRoute(r *gatewayv1.HTTPRoute) (errs field.ErrorList) {
	names := map[gatewayv1.SectionName]bool{}
	for i := range r.Spec.Rules {
		path := field.NewPath("spec", "rules").Index(i)
		errs = append(errs, checkRuleName(names, path, r.Spec.Rules[i].Name)...)
		for j, ref := range r.Spec.Rules[i].BackendRefs {
			errs = append(errs, checkWeight(path.Child("backendRefs").Index(j), ref.Weight)...)
		}
		errs = append(errs, checkTimeoutsAndRetry(path, &r.Spec.Rules[i])...)
	}
	return errs
}

// checkTimeoutsAndRetry checks a rule's timeouts and retry by the bounds of its CRD.
func checkTimeoutsAndRetry(path *field.Path, r *gatewayv1.HTTPRouteRule) (errs field.ErrorList) {
	if t := r.Timeouts; t != nil {
		errs = append(errs, checkDuration(path.Child("timeouts", "request"), t.Request)...)
		errs = append(errs, checkDuration(path.Child("timeouts", "backendRequest"), t.BackendRequest)...)
	}
	if r.Retry == nil {
		return errs
	}
	path = path.Child("retry")
	for i, code := range r.Retry.Codes {
		errs = append(errs, checkRange(path.Child("codes").Index(i), int(code), 400, 599)...)
	}
	if a := r.Retry.Attempts; a != nil && *a < 0 {
		errs = append(errs, field.Invalid(path.Child("attempts"), *a, "must be 0 at least"))
	}
	return append(errs, checkDuration(path.Child("backoff"), r.Retry.Backoff)...)
}

// checkDuration checks a duration by the CRD's pattern, GEP-2257's.
func checkDuration(path *field.Path, text *gatewayv1.Duration) field.ErrorList {
	if text == nil {
		return nil
	}
	if _, err := duration.Parse(string(*text)); err != nil {
		return field.ErrorList{field.Invalid(path, *text, "must be a duration")}
	}
	return nil
}
