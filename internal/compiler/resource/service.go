package resource

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var affinities = []corev1.ServiceAffinity{corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone}

var protocols = []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}

// validateService fills in defaults and applies the API server's rules for the fields that are read.
func validateService(s *corev1.Service) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if len(s.Spec.Ports) == 0 && s.Spec.ClusterIP != corev1.ClusterIPNone {
		errs = append(errs, field.Required(spec.Child("ports"), "a Service that is not headless has one"))
	}
	if a := s.Spec.SessionAffinity; a != "" && !slices.Contains(affinities, a) {
		errs = append(errs, field.NotSupported(spec.Child("sessionAffinity"), a, affinities))
	}
	names := sets.New[string]()
	numbers := sets.New[string]()
	for i := range s.Spec.Ports {
		p, path := &s.Spec.Ports[i], spec.Child("ports").Index(i)
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		errs = append(errs, validatePort(path, p.Name, p.Port, p.Protocol, len(s.Spec.Ports) > 1)...)
		if p.Name != "" {
			errs = append(errs, checkUnique(names, path.Child("name"), p.Name)...)
		}
		errs = append(errs, checkUnique(numbers, path, string(p.Protocol)+" port "+itoa(p.Port))...)
	}
	return errs
}

// validatePort checks a port of a Service or an EndpointSlice.
func validatePort(path *field.Path, name string, number int32, protocol corev1.Protocol, needsName bool) field.ErrorList {
	var errs field.ErrorList
	switch {
	case name == "" && needsName:
		errs = append(errs, field.Required(path.Child("name"), "of several ports each has a name"))
	case name != "":
		for _, why := range validation.IsDNS1123Label(name) {
			errs = append(errs, field.Invalid(path.Child("name"), name, why))
		}
	}
	for _, why := range validation.IsValidPortNum(int(number)) {
		errs = append(errs, field.Invalid(path.Child("port"), number, why))
	}
	if !sets.New(protocols...).Has(protocol) {
		errs = append(errs, field.NotSupported(path.Child("protocol"), protocol, protocols))
	}
	return errs
}

// checkUnique notes a value that was seen before.
func checkUnique(seen sets.Set[string], path *field.Path, value string) field.ErrorList {
	if seen.Has(value) {
		return field.ErrorList{field.Duplicate(path, value)}
	}
	seen.Insert(value)
	return nil
}
