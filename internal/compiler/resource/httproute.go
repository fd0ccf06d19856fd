package resource

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

var httpRouteKind = newKind(definition[gatewayv1.HTTPRoute]{
	Traits: Traits{HasStatus: true, Describable: true, Attachable: true},
	group:  gatewayv1.GroupName, kind: object.KindHTTPRoute, versions: []string{"v1", "v1beta1"},
	fields: func() fieldSupport {
		return joinRows(routeFields(httpMatches()), nestUnder("spec.rules[]", supportAll(
			"timeouts.request", "timeouts.backendRequest", "retry.codes[]", "retry.attempts", "retry.backoff",
		)), nestUnder("spec.rules[].filters[]", httpFilterFields()), nestUnder("spec.rules[].backendRefs[].filters[]", fieldSupport{
			"type":                onlyValues("RequestHeaderModifier", "ResponseHeaderModifier", "URLRewrite"),
			"urlRewrite.hostname": supported,
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
func routeFields(matches fieldSupport) fieldSupport {
	return joinRows(
		fieldSupport{
			"spec.parentRefs[].group": supported,
			"spec.parentRefs[].kind":  supported,
			"spec.useDefaultGateways": onlyValues("None"),
		},
		nestUnder("spec.parentRefs[]", supportAll("namespace", "name", "sectionName", "port")),
		supportAll("spec.hostnames[]", "spec.rules[].name"),
		nestUnder("spec.rules[].backendRefs[]", supportAll("group", "kind", "namespace", "name", "port", "weight")),
		nestUnder("spec.rules[].matches[]", matches),
		nestUnder("spec.rules[].matches[].headers[]", supportAll("type", "name", "value")),
		nestUnder("spec.rules[].filters[]", joinRows(
			headerFilterFields(),
			fieldSupport{"type": onlyValues("RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror")},
			nestUnder("requestMirror", supportAll("percent", "fraction.numerator", "fraction.denominator")),
			nestUnder("requestMirror.backendRef", supportAll("group", "kind", "namespace", "name", "port")),
		)),
		nestUnder("spec.rules[].backendRefs[].filters[]", joinRows(
			headerFilterFields(), fieldSupport{"type": onlyValues("RequestHeaderModifier", "ResponseHeaderModifier")},
		)),
		nestUnder("spec.rules[]."+sessionKey, joinRows(sessionFields16(), sessionFields17())),
	)
}

// headerFilterFields are those of the filters that change headers.
func headerFilterFields() fieldSupport {
	header := supportAll("name", "value")
	modifier := joinRows(nestUnder("set[]", header), nestUnder("add[]", header), supportAll("remove[]"))
	return joinRows(nestUnder("requestHeaderModifier", modifier), nestUnder("responseHeaderModifier", modifier))
}

// httpFilterFields are the filters that HTTPRoute alone has.
func httpFilterFields() fieldSupport {
	path := nestUnder("path", supportAll("type", "replaceFullPath", "replacePrefixMatch"))
	return joinRows(
		fieldSupport{"type": onlyValues(
			"RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "RequestRedirect", "URLRewrite", "CORS", "ExternalAuth")},
		nestUnder("requestRedirect", joinRows(path, supportAll("scheme", "hostname", "port", "statusCode"))),
		nestUnder("urlRewrite", joinRows(path, supportAll("hostname"))),
		nestUnder("cors", supportAll(
			"allowOrigins[]", "allowCredentials", "allowMethods[]", "allowHeaders[]", "exposeHeaders[]", "maxAge")),
		nestUnder("externalAuth.backendRef", supportAll("group", "kind", "namespace", "name", "port")),
		nestUnder("externalAuth", supportAll(
			"protocol", "grpc", "http.path", "http.allowedHeaders[]", "http.allowedResponseHeaders[]", "forwardBody.maxSize")),
	)
}

func httpMatches() fieldSupport {
	return joinRows(
		fieldSupport{
			"path.type":  supported,
			"path.value": supported,
			"method":     onlyValues("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"),
		},
		nestUnder("queryParams[]", supportAll("type", "name", "value")),
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
