package resource

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// What an API server lets one EndpointSlice hold.
const (
	maxEndpoints = 1000
	maxPorts     = 100
	maxAddresses = 100
)

var endpointSliceKind = newKind(definition[discoveryv1.EndpointSlice]{
	group: discoveryv1.GroupName, kind: "EndpointSlice", versions: []string{"v1"},
	nameRule: apivalidation.NameIsDNSSubdomain,
	fields:   sliceFields, validate: validateEndpointSlice,
	list: func(o *Objects) *[]*Object[discoveryv1.EndpointSlice] { return &o.Slices },
})

var addressTypes = []discoveryv1.AddressType{
	discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN,
}

// ServiceOf is the key of the Service that a slice belongs to.
func ServiceOf(s *Object[discoveryv1.EndpointSlice]) string {
	return s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
}

// validateEndpointSlice fills in defaults and applies the API server's rules for the fields that are read, but for one:
// loopback addresses are fine, for demos and tests have nothing else.
func validateEndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.AddressType == "":
		errs = append(errs, field.Required(field.NewPath("addressType"), ""))
	case !sets.New(addressTypes...).Has(s.AddressType):
		errs = append(errs, field.NotSupported(field.NewPath("addressType"), s.AddressType, addressTypes))
	}
	errs = append(errs, validateEndpointPorts(s.Ports)...)
	endpoints := field.NewPath("endpoints")
	if len(s.Endpoints) > maxEndpoints {
		return append(errs, field.TooMany(endpoints, len(s.Endpoints), maxEndpoints))
	}
	for i, e := range s.Endpoints {
		errs = append(errs, validateAddresses(endpoints.Index(i).Child("addresses"), e.Addresses, s.AddressType)...)
	}
	return errs
}

func validateEndpointPorts(ports []discoveryv1.EndpointPort) field.ErrorList {
	path := field.NewPath("ports")
	if len(ports) > maxPorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxPorts)}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range ports {
		p := &ports[i]
		if p.Name == nil {
			p.Name = new(string)
		}
		if p.Protocol == nil {
			tcp := corev1.ProtocolTCP
			p.Protocol = &tcp
		}
		number := int32(1) // absent means every port, which is no fault
		if p.Port != nil {
			number = *p.Port
		}
		errs = append(errs, validatePort(path.Index(i), *p.Name, number, *p.Protocol, false)...)
		errs = append(errs, checkUnique(names, path.Index(i).Child("name"), *p.Name)...)
	}
	return errs
}

func validateAddresses(path *field.Path, addresses []string, of discoveryv1.AddressType) field.ErrorList {
	switch {
	case len(addresses) == 0:
		return field.ErrorList{field.Required(path, "an endpoint has at least one address")}
	case len(addresses) > maxAddresses:
		return field.ErrorList{field.TooMany(path, len(addresses), maxAddresses)}
	}
	var errs field.ErrorList
	for i, a := range addresses {
		if why := explainUnusable(a, of); why != "" {
			errs = append(errs, field.Invalid(path.Index(i), a, why))
		}
	}
	return errs
}

// explainUnusable says why an endpoint can't have an address; empty if it can.
func explainUnusable(address string, of discoveryv1.AddressType) string {
	ip, err := netip.ParseAddr(address)
	switch {
	case of == discoveryv1.AddressTypeFQDN:
		return ""
	case err != nil || ip.Zone() != "" || ip.Is4In6():
		return "must be a valid IP address"
	case of == discoveryv1.AddressTypeIPv6 && translated.Contains(ip):
		return explainUntranslated(ip)
	case of == discoveryv1.AddressTypeIPv4 && !ip.Is4():
		return "must be an IPv4 address"
	case of == discoveryv1.AddressTypeIPv6 && !ip.Is6():
		return "must be an IPv6 address"
	default:
		return explainReserved(ip)
	}
}

// explainReserved says why no endpoint can have an address of its family; empty if one can.
func explainReserved(ip netip.Addr) string {
	switch {
	case ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast():
		return "must not be unspecified, multicast or link-local"
	case ip == broadcast:
		return "must not be the broadcast address"
	case slices.Contains(metadataServices, ip):
		return "must not be that of a cloud's metadata service, which gives machines their credentials"
	default:
		return ""
	}
}

// explainUntranslated says why an endpoint can't have an address that stands for one of IPv4. Private ones have no such
// address, says the RFC, and past it a machine of the cluster would not be known.
func explainUntranslated(ip netip.Addr) string {
	all := ip.As16()
	last := netip.AddrFrom4([4]byte(all[12:]))
	if last.IsPrivate() || last.IsLoopback() {
		return "must not stand for a private IPv4 address"
	}
	return explainUnusable(last.String(), discoveryv1.AddressTypeIPv4)
}

// metadataServices are the addresses of clouds' metadata services that are not link-local: Alibaba's, Azure's,
// Oracle's, and of IPv6 AWS's and that of its Pods, Google's and Scaleway's.
var metadataServices = []netip.Addr{
	netip.AddrFrom4([4]byte{100, 100, 100, 200}), netip.AddrFrom4([4]byte{168, 63, 129, 16}),
	netip.AddrFrom4([4]byte{192, 0, 0, 192}),
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("fd00:42::42"),
}

// translated are addresses of IPv6 that a network takes for the IPv4 address in their last four bytes (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

func sliceFields() support.Fields {
	return support.Fields{
		"addressType":                        support.Field{},
		"ports[].name":                       support.Field{},
		"ports[].port":                       support.Field{},
		"ports[].protocol":                   support.Field{},
		"ports[].appProtocol":                support.Ignored("repeats the Service's, which is the one that is read"),
		"endpoints[].addresses[]":            support.Field{},
		"endpoints[].conditions.ready":       support.Field{},
		"endpoints[].conditions.serving":     support.Field{},
		"endpoints[].conditions.terminating": support.Field{},
		"endpoints[].deprecatedTopology":     support.Ignored("is a copy of what other fields say"),
		"endpoints[].hints.forZones[].name":  support.Field{},
		"endpoints[].hints.forNodes":         support.Ignored("on which node Envoy runs is not known"),
		"endpoints[].hostname":               support.Field{},
		"endpoints[].nodeName":               support.Ignored("says where the endpoint runs, which changes nothing"),
		"endpoints[].targetRef.uid":          support.Field{},
		"endpoints[].targetRef":              support.Ignored("says what the endpoint is; the uid tells pods apart"),
		"endpoints[].zone":                   support.Field{},
	}
}
