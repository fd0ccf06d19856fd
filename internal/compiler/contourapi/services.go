package contourapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// HTTPProxyService is a port of a Service. Where no service of a route has a weight, all have the same.
type HTTPProxyService struct {
	Name   string `json:"name"`
	Port   int64  `json:"port"`
	Weight int64  `json:"weight"`
	// Mirror gives it copies of a part of the requests, Weight percent of them, and all with 0.
	Mirror bool `json:"mirror"`
	// Protocol is tls, h2 or h2c; empty leaves it to the Service.
	Protocol string `json:"protocol"`
	// Validation says whom its hosts must be, and has TLS spoken to them.
	Validation *UpstreamValidation `json:"validation"`
	// SlowStart is that of all services of a route, or of none.
	SlowStart *SlowStartPolicy `json:"slowStartPolicy"`

	HeadersPolicies `json:",inline"`
}

// UpstreamValidation says who vouches for hosts, and which names one of theirs must be among.
type UpstreamValidation struct {
	CASecret     string   `json:"caSecret"`
	SubjectName  string   `json:"subjectName"`
	SubjectNames []string `json:"subjectNames"`
}

// The protocols that a service may have.
const (
	serviceTLS = "tls"
	serviceH2  = "h2"
	serviceH2C = "h2c"
)

// maxSubjectNames is Contour's limit.
const maxSubjectNames = 8

func proxyServiceFields() support.Fields {
	return support.Join(
		support.Fields{"services[].protocol": support.Only(serviceTLS, serviceH2, serviceH2C)},
		support.All("services[].name", "services[].port", "services[].weight", "services[].mirror"),
		slowStartFields(),
		support.Under("services[].validation", support.All("caSecret", "subjectName", "subjectNames[]")),
		support.Under("services[]", headersPolicyFields()),
	)
}

// names are those a host's certificate must have one of.
func (v *UpstreamValidation) names() []string {
	if len(v.SubjectNames) > 0 {
		return v.SubjectNames
	}
	return []string{v.SubjectName}
}

// validateServices checks those that a route, or connections, go to.
func validateServices(path *field.Path, services []HTTPProxyService) field.ErrorList {
	var errs field.ErrorList
	if !slices.ContainsFunc(services, func(s HTTPProxyService) bool { return !s.Mirror }) {
		errs = append(errs, field.Required(path, "a route has at least one"))
	}
	mirrors := 0
	for i := range services {
		s, at := &services[i], path.Index(i)
		if errs = append(errs, s.validateService(at)...); s.Mirror {
			mirrors++
		}
	}
	if mirrors > 1 {
		errs = append(errs, field.Invalid(path, mirrors, "must have at most one mirror"))
	}
	return append(errs, validateSlowStarts(path, services)...)
}

func (s *HTTPProxyService) validateService(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), ""))
	}
	if faults := validation.IsValidPortNum(int(s.Port)); len(faults) > 0 {
		errs = append(errs, field.Invalid(at.Child("port"), s.Port, strings.Join(faults, "; ")))
	}
	switch {
	case s.Mirror && (s.Weight < 0 || s.Weight > allPercent):
		errs = append(errs, field.Invalid(at.Child("weight"), s.Weight, "must be between 1 and 100 for a mirror"))
	case s.Weight < 0 || s.Weight > foreign.MaxWeight:
		errs = append(
			errs,
			field.Invalid(at.Child("weight"), s.Weight, fmt.Sprintf("must be between 0 and %d", foreign.MaxWeight)),
		)
	}
	if s.Mirror && (s.Request != nil || s.Response != nil) {
		errs = append(
			errs,
			field.Forbidden(at.Child("mirror"), "a mirror gets requests as they are: it has no policies for headers"),
		)
	}
	errs = append(errs, s.validateTLS(at)...)
	return append(errs, s.validate(at)...)
}

// validateTLS wants to know whom hosts must be where TLS is spoken to them.
func (s *HTTPProxyService) validateTLS(at *field.Path) field.ErrorList {
	v, path := s.Validation, at.Child("validation")
	if v == nil {
		if s.Protocol == serviceTLS || s.Protocol == serviceH2 {
			return field.ErrorList{
				support.Lacking(field.Required(path, "without it TLS is spoken that verifies nothing, which is not supported")),
			}
		}
		return nil
	}
	var errs field.ErrorList
	if s.Protocol == serviceH2C {
		errs = append(errs, field.Forbidden(path, "h2c is spoken without TLS"))
	}
	if v.CASecret == "" {
		errs = append(errs, field.Required(path.Child("caSecret"), ""))
	} else if strings.Contains(v.CASecret, "/") {
		errs = append(errs, support.Lacking(field.Invalid(path.Child("caSecret"), v.CASecret,
			"not supported: a Secret of another namespace, which its owner allows by a TLSCertificateDelegation")))
	} else if faults := validation.IsDNS1123Subdomain(v.CASecret); len(faults) > 0 {
		errs = append(errs, field.Invalid(path.Child("caSecret"), v.CASecret, strings.Join(faults, "; ")))
	}
	if v.SubjectName == "" {
		errs = append(errs, field.Required(path.Child("subjectName"), ""))
	}
	for _, name := range v.names() {
		for _, fault := range validation.IsDNS1123Subdomain(name) {
			if name != "" {
				errs = append(errs, field.Invalid(path.Child("subjectName"), name, fault))
			}
		}
	}
	if len(v.SubjectNames) > maxSubjectNames {
		errs = append(errs, field.TooMany(path.Child("subjectNames"), len(v.SubjectNames), maxSubjectNames))
	} else if len(v.SubjectNames) > 0 && v.SubjectNames[0] != v.SubjectName {
		errs = append(errs, field.Invalid(path.Child("subjectNames").Index(0), v.SubjectNames[0], "must be subjectName"))
	}
	return errs
}

// allPercent is how much of the requests a mirror gets where it does not say so.
const allPercent = 100

// listServed gives the places of the services that requests go to, and the mirror's, -1 for none.
func listServed(services []HTTPProxyService) (served []int, mirror int) {
	mirror = -1
	for i := range services {
		if services[i].Mirror {
			mirror = i
		} else {
			served = append(served, i)
		}
	}
	return served, mirror
}

// toBackendRefs gives services as references: all alike where none has a weight.
func toBackendRefs(services []HTTPProxyService) (refs []gatewayv1.HTTPBackendRef) {
	served, _ := listServed(services)
	total := int64(0)
	for _, i := range served {
		total += services[i].Weight
	}
	for _, i := range served {
		refs = append(refs, services[i].toBackendRef(total == 0))
	}
	return refs
}

func (s *HTTPProxyService) toBackendRef(unweighted bool) gatewayv1.HTTPBackendRef {
	weight := int32(s.Weight) // checked
	if unweighted {
		weight = 1
	}
	var ref gatewayv1.HTTPBackendRef
	ref.BackendObjectReference, ref.Weight, ref.Filters = s.toReference(), &weight, s.ToFilters()
	return ref
}

func (s *HTTPProxyService) toReference() gatewayv1.BackendObjectReference {
	port := gatewayv1.PortNumber(s.Port) // checked
	return gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(s.Name), Port: &port}
}

// toMirrors gives the filter for the service that gets copies.
func toMirrors(services []HTTPProxyService) []gatewayv1.HTTPRouteFilter {
	_, i := listServed(services)
	if i < 0 {
		return nil
	}
	mirror := &gatewayv1.HTTPRequestMirrorFilter{BackendRef: services[i].toReference()}
	if percent := int32(services[i].Weight); percent > 0 { // checked
		mirror.Percent = &percent
	}
	return []gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterRequestMirror, RequestMirror: mirror}}
}

// renameServices gives the path of a backendRef, or of a mirror, as that of the service that it was made of.
func (s *HTTPProxySpec) renameServices(path string) string {
	rest, found := strings.CutPrefix(path, "spec.rules[")
	number, rest, closed := strings.Cut(rest, "]")
	rule, err := strconv.Atoi(number)
	if !found || !closed || err != nil || rule >= len(s.Routes) {
		return path
	}
	served, mirror := listServed(s.Routes[rule].Services)
	if _, after, is := strings.Cut(rest, ".requestMirror.backendRef"); is && mirror >= 0 {
		return fmt.Sprintf("spec.routes[%d].services[%d]%s", rule, mirror, after)
	}
	after, is := strings.CutPrefix(rest, ".backendRefs[")
	number, after, closed = strings.Cut(after, "]")
	at, err := strconv.Atoi(number)
	if !is || !closed || err != nil || at >= len(served) {
		return path
	}
	return fmt.Sprintf("spec.rules[%d].services[%d]%s", rule, served[at], after)
}

// toExtra gives what a backendRef has no fields for.
func (s *HTTPProxyService) toExtra() (b foreign.Backend) {
	if s.Protocol != "" {
		http2 := s.Protocol == serviceH2 || s.Protocol == serviceH2C
		b.HTTP2 = &http2
	}
	if v := s.Validation; v != nil {
		b.Validation = &foreign.Validation{CASecret: v.CASecret, Names: v.names()}
	}
	return b
}
