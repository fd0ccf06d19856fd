package resource

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

var serviceKind = newKind(definition[corev1.Service]{
	Traits: Traits{Describable: true, Attachable: true},
	kind:   object.KindService, versions: []string{"v1"}, nameRule: apivalidation.NameIsDNSLabel,
	fields: serviceFields, validate: validateService,
	list: func(o *Objects) *[]*Object[corev1.Service] { return &o.Services },
	sections: func(s *corev1.Service) (names []string) {
		for _, p := range s.Spec.Ports {
			if p.Name != "" {
				names = append(names, p.Name)
			}
		}
		return names
	},
})

var affinities = []corev1.ServiceAffinity{corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone}

var protocols = []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}

// validateService fills in defaults and applies the API server's rules for the fields that are read.
func validateService(s *corev1.Service) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	named := s.Spec.Type == corev1.ServiceTypeExternalName
	if len(s.Spec.Ports) == 0 && s.Spec.ClusterIP != corev1.ClusterIPNone && !named {
		errs = append(
			errs,
			field.Required(spec.Child("ports"), "a Service that is neither headless nor an ExternalName has one"),
		)
	}
	if named && s.Spec.ExternalName == "" {
		errs = append(errs, field.Required(spec.Child("externalName"), ""))
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
		errs = append(errs, checkUnique(numbers, path, fmt.Sprintf("%s port %d", p.Protocol, p.Port))...)
	}
	return errs
}

// validatePort checks a port of a Service or an EndpointSlice.
func validatePort(
	path *field.Path,
	name string,
	number int32,
	protocol corev1.Protocol,
	needsName bool,
) field.ErrorList {
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

const bypassesService = "concerns the ways through the Service's own addresses; Envoy goes to the endpoints"

func serviceFields() support.Fields {
	return support.Fields{
		"spec.type":                          {},
		"spec.externalName":                  {},
		"spec.sessionAffinity":               {},
		"spec.sessionAffinityConfig":         support.Ignored(bypassesService),
		"spec.internalTrafficPolicy":         support.Ignored(bypassesService),
		"spec.ports[].name":                  {},
		"spec.ports[].port":                  {},
		"spec.ports[].protocol":              {},
		"spec.ports[].appProtocol":           {},
		"spec.ports[].targetPort":            support.Ignored("the EndpointSlices' ports are the ones that it leads to"),
		"spec.ports[].nodePort":              support.Ignored(bypassesService),
		"spec.selector":                      support.Ignored("the EndpointSlices hold what it selects"),
		"spec.publishNotReadyAddresses":      support.Ignored("the EndpointSlices' conditions follow it"),
		"spec.clusterIP":                     support.Ignored(bypassesService),
		"spec.clusterIPs":                    support.Ignored(bypassesService),
		"spec.externalIPs":                   support.Ignored(bypassesService),
		"spec.externalTrafficPolicy":         support.Ignored(bypassesService),
		"spec.healthCheckNodePort":           support.Ignored(bypassesService),
		"spec.allocateLoadBalancerNodePorts": support.Ignored(bypassesService),
		"spec.loadBalancerClass":             support.Ignored(bypassesService),
		"spec.loadBalancerIP":                support.Ignored(bypassesService),
		"spec.loadBalancerSourceRanges":      support.Ignored(bypassesService),
		"spec.ipFamilies":                    {},
		"spec.ipFamilyPolicy":                support.Ignored("the EndpointSlices hold the families that it leads to"),

		"spec.trafficDistribution": {},
	}
}
