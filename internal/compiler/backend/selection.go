package backend

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Selection has the pods that Services select, and the running pods that they no longer select (S42). EndpointSlices do
// not list the latter, so the Selection is carried from one input to the next. It does not change once it is made; nil
// has no pods.
type Selection struct {
	// Pods are by their keys.
	Pods map[string]*SelectedPod
	left map[string][]*SelectedPod // those that have been left, by the namespace/name of the Service, in order
}

// SelectedPod is a pod at an address that a Service selects, or did.
type SelectedPod struct {
	Namespace string         `json:"namespace"`
	Service   string         `json:"service"`
	Address   netip.Addr     `json:"address"`
	Ports     []SelectedPort `json:"ports"`
	// UID is the pod's: an address alone may be another pod's by now.
	UID string `json:"pod"`
	// Left is when the Service was first seen without it; zero while it is selected.
	Left time.Time `json:"left,omitzero"`
}

// SelectedPort is a port of an EndpointSlice.
type SelectedPort struct {
	Name     string          `json:"name"`
	Protocol corev1.Protocol `json:"protocol"`
	Port     int32           `json:"port"`
}

// NewSelection is the selection of some pods, by their keys.
func NewSelection(pods map[string]*SelectedPod) *Selection {
	s := &Selection{Pods: pods, left: map[string][]*SelectedPod{}}
	for _, p := range pods {
		if !p.Left.IsZero() {
			s.left[p.serviceKey()] = append(s.left[p.serviceKey()], p)
		}
	}
	for _, some := range s.left {
		slices.SortFunc(some, func(a, b *SelectedPod) int { return cmp.Compare(a.key(), b.key()) })
	}
	return s
}

// LeftBy returns the pods that a Service no longer selects.
func (s *Selection) LeftBy(service string) []*SelectedPod {
	if s == nil {
		return nil
	}
	return s.left[service]
}

// ListChanged lists the Services for which LeftBy differs.
func (s *Selection) ListChanged(now *Selection) (services []string) {
	if s == now {
		return nil
	}
	for _, lists := range [][2]*Selection{{s, now}, {now, s}} {
		if lists[0] == nil {
			continue
		}
		for service, pods := range lists[0].left {
			if !slices.Equal(pods, lists[1].LeftBy(service)) {
				services = append(services, service)
			}
		}
	}
	return services
}

// key names the pod among those of all Services. Pods on their node's network share its address, and have ports of
// their own.
func (p *SelectedPod) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", p.serviceKey(), p.Address)
	for _, port := range p.Ports {
		fmt.Fprintf(&b, " %s:%d/%s", port.Name, port.Port, port.Protocol)
	}
	return b.String()
}

func (p *SelectedPod) serviceKey() string { return p.Namespace + "/" + p.Service }

// podKey names the pod as one of its Service, wherever it is.
func (p *SelectedPod) podKey() string { return p.serviceKey() + " pod " + p.UID }

// endpoint is the pod as an endpoint behind a port of its Service; false if it has no such port.
func (p *SelectedPod) endpoint(port corev1.ServicePort) (ir.Endpoint, bool) {
	for _, own := range p.Ports {
		if own.Name == port.Name && own.Protocol == port.Protocol {
			return p.endpointAt(own.Port), true
		}
	}
	return ir.Endpoint{}, false
}

// endpointAt is the pod as an endpoint with some port. It takes no new sessions.
func (p *SelectedPod) endpointAt(port int32) ir.Endpoint {
	return ir.Endpoint{
		Address: netip.AddrPortFrom(p.Address, uint16(port)), Draining: true, Unselected: p.Left.UnixNano(),
		Pod: ir.Pod{Namespace: p.Namespace, UID: p.UID},
	}
}

// isOf tells whether the pod's address is of a family.
func (p *SelectedPod) isOf(family discoveryv1.AddressType) bool {
	return p.Address.Is4() == (family == discoveryv1.AddressTypeIPv4) && family != discoveryv1.AddressTypeFQDN
}

// Follow returns the selection after an input, by its EndpointSlices and Pods. It is empty without a policy that keeps
// pods.
func (s *Selection) Follow(objects *resource.Objects, now time.Time) *Selection {
	known, next := map[string]*SelectedPod{}, map[string]*SelectedPod{}
	if s != nil {
		known = s.Pods
	}
	if len(listKeeping(objects)) > 0 {
		next = newPodFacts(objects).follow(known, now)
	}
	if s != nil && maps.Equal(known, next) {
		return s
	}
	return NewSelection(next)
}

// follow returns the pods that are selected now, and the known ones that are no longer selected and still serve.
func (f *podFacts) follow(known map[string]*SelectedPod, now time.Time) map[string]*SelectedPod {
	next := make(map[string]*SelectedPod, len(f.selected))
	for key, pod := range f.selected {
		pod.UID = cmp.Or(pod.UID, f.owners[podAddress{pod.Namespace, pod.Address}])
		if was := known[key]; was != nil && reflect.DeepEqual(was, pod) {
			pod = was
		}
		if pod.UID != "" {
			next[key] = pod
		}
	}
	for key, was := range known {
		if f.listed[key] || f.listed[was.podKey()] || !slices.Contains(f.serving[was.UID], was.Address) {
			continue // it is an endpoint still, if only one that terminates; or the pod is gone, or is not ready
		}
		if was.Left.IsZero() {
			left := *was
			left.Left = now.Round(0).UTC().Truncate(time.Second)
			was = &left
		}
		next[key] = was
	}
	return next
}

// podFacts are what an input says of pods and of what Services select.
type podFacts struct {
	// selected are the pods that take new sessions, and listed all that a Service has, by their keys and their pods.
	selected map[string]*SelectedPod
	listed   map[string]bool
	// serving are the addresses at which pods serve, by UID, and owners the UIDs of those that have an address for
	// themselves.
	serving map[string][]netip.Addr
	owners  map[podAddress]string
}

type podAddress struct {
	namespace string
	address   netip.Addr
}

func newPodFacts(objects *resource.Objects) *podFacts {
	f := &podFacts{
		selected: map[string]*SelectedPod{}, listed: map[string]bool{}, serving: map[string][]netip.Addr{},
		owners: map[podAddress]string{},
	}
	for _, s := range objects.Slices {
		f.addSlice(s)
	}
	for _, p := range objects.Pods {
		f.addPod(p)
	}
	return f
}

func (f *podFacts) addSlice(s *endpointSlice) {
	service := s.Labels[discoveryv1.LabelServiceName]
	if service == "" || s.Value.AddressType == discoveryv1.AddressTypeFQDN {
		return
	}
	var ports []SelectedPort
	for _, p := range s.Value.Ports {
		if p.Port != nil {
			ports = append(ports, SelectedPort{*p.Name, *p.Protocol, *p.Port})
		}
	}
	for _, e := range s.Value.Endpoints {
		pod := &SelectedPod{
			Namespace: s.Namespace,
			Service:   service,
			Address:   netip.MustParseAddr(e.Addresses[0]),
			Ports:     ports,
		}
		if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
			pod.UID = string(e.TargetRef.UID)
		}
		f.listed[pod.key()] = true
		if pod.UID != "" {
			f.listed[pod.podKey()] = true
		}
		draining, _ := readConditions(e.Conditions)
		if was := f.selected[pod.key()]; !draining && (was == nil || was.UID < pod.UID) {
			f.selected[pod.key()] = pod
		}
	}
}

func (f *podFacts) addPod(p *resource.Object[resource.Pod]) {
	uid := string(p.Value.UID)
	f.serving[uid] = p.Value.ServingAddresses()
	for _, address := range f.serving[uid] {
		at := podAddress{p.Namespace, address}
		if _, shared := f.owners[at]; shared {
			f.owners[at] = "" // of the node: nothing tells whose sessions they are
			continue
		}
		f.owners[at] = uid
	}
}

// KeepsPods tells whether a policy keeps pods that Services no longer select.
func KeepsPods(p *v1alpha1.SessionPersistencePolicySpec) bool { return keepPath(p) != "" }

// listKeeping lists the policies that keep pods.
func listKeeping(objects *resource.Objects) (all []*resource.Object[v1alpha1.SessionPersistencePolicy]) {
	for _, p := range objects.SessionPolicies {
		if KeepsPods(&p.Value.Spec) {
			all = append(all, p)
		}
	}
	return all
}

// keepPath is where a policy says that it keeps pods; empty for nowhere.
func keepPath(s *v1alpha1.SessionPersistencePolicySpec) string {
	switch {
	case s.KeepUnselected != nil:
		return "spec.keepUnselected"
	case s.Default != nil && s.Default.KeepUnselected != nil:
		return "spec.default.keepUnselected"
	case s.Override != nil && s.Override.KeepUnselected != nil:
		return "spec.override.keepUnselected"
	}
	return ""
}

// ReportUnseenPods warns, for each policy that keeps pods, that the input has no Pods.
func ReportUnseenPods(objects *resource.Objects, rep *report.Report) {
	if len(objects.Pods) > 0 {
		return
	}
	for _, p := range listKeeping(objects) {
		rep.WarnAt(
			report.PodsUnseen,
			p,
			keepPath(&p.Value.Spec),
			"not supported: there are no Pods in the input, or limpet may not list and watch those of the cluster, so "+
				"nothing tells a pod that its Service no longer selects from one that is gone: sessions leave both",
		)
	}
}
