package livereload

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// inputFacts are what an input says of pods and of what Services select.
type inputFacts struct {
	// wanted says that a policy may want unselected pods to be kept.
	wanted bool
	// selected are the hosts that take new sessions, and listed all that a Service has, by their keys and their pods.
	selected map[string]keptHost
	listed   map[string]bool
	// pods are by UID, and owners the UIDs of those that have an address for themselves, by namespace/address.
	pods   map[string]*podFacts
	owners map[string]string
}

// podFacts is what is known of a pod: the addresses at which it serves, none if it is not ready or terminates.
type podFacts struct{ addresses []string }

func (p *podFacts) serves(address string) bool {
	return p != nil && slices.Contains(p.addresses, address)
}

// sourceReader reads the sources that have changed.
type sourceReader struct {
	known map[string]sourceFacts
	// last are the sources that were read, and namespace is that of documents without one.
	last      []compiler.Source
	namespace string
	// mentions is how many of them mention keepUnselected.
	mentions int
}

// sourceFacts is what one source says.
type sourceFacts struct {
	data     []byte
	mentions bool // keepUnselected
	parsed   bool
	slices   []discoveryv1.EndpointSlice
	pods     []corev1.Pod
}

// The words without which there is nothing to read.
var (
	keepWord  = []byte("keepUnselected")
	sliceWord = []byte("EndpointSlice")
	podWord   = []byte("Pod")
)

func (r *sourceReader) read(sources []compiler.Source, namespace string) inputFacts {
	r.update(sources, namespace)
	wanted := r.mentions > 0
	f := inputFacts{
		wanted: wanted, selected: map[string]keptHost{}, listed: map[string]bool{}, pods: map[string]*podFacts{}, owners: map[string]string{},
	}
	if !wanted {
		return f
	}
	for _, name := range slices.Sorted(maps.Keys(r.known)) {
		s := r.known[name]
		if !s.parsed {
			s.parse(name)
			r.known[name] = s
		}
		f.add(s, namespace)
	}
	return f
}

// update looks at the sources that have changed.
func (r *sourceReader) update(sources []compiler.Source, namespace string) {
	if r.known == nil || r.namespace != namespace {
		*r = sourceReader{known: map[string]sourceFacts{}, namespace: namespace}
	}
	changed, gone := read.Diff(r.last, sources)
	r.last = sources
	for _, name := range gone {
		r.forget(name)
	}
	for _, s := range changed {
		r.forget(s.Name)
		facts := sourceFacts{data: s.Data, mentions: bytes.Contains(s.Data, keepWord)}
		if r.known[s.Name] = facts; facts.mentions {
			r.mentions++
		}
	}
}

func (r *sourceReader) forget(name string) {
	if r.known[name].mentions {
		r.mentions--
	}
	delete(r.known, name)
}

// sameBytes compares contents, which mostly are the same slice.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}

// parse reads the EndpointSlices and Pods. What is no good is no fact; the compiler says what is wrong with it.
func (s *sourceFacts) parse(name string) {
	s.parsed = true
	if !bytes.Contains(s.data, sliceWord) && !bytes.Contains(s.data, podWord) {
		return
	}
	for _, d := range read.ParseDocuments([]read.Source{{Name: name, Data: s.data}}, &report.Report{}) {
		switch d.StringAt("kind") {
		case "EndpointSlice":
			s.slices = appendDecoded(s.slices, d)
		case "Pod":
			s.pods = appendDecoded(s.pods, d)
		}
		d.Release()
	}
}

func appendDecoded[T any](list []T, d *read.Document) []T {
	var one T
	text, err := json.Marshal(d.Fields)
	if err != nil || json.Unmarshal(text, &one) != nil {
		return list
	}
	return append(list, one)
}

func (f *inputFacts) add(s sourceFacts, namespace string) {
	for i := range s.slices {
		f.addSlice(&s.slices[i], namespace)
	}
	for i := range s.pods {
		f.addPod(&s.pods[i], namespace)
	}
}

func (f *inputFacts) addSlice(s *discoveryv1.EndpointSlice, namespace string) {
	service := s.Labels[discoveryv1.LabelServiceName]
	if s.Namespace != "" {
		namespace = s.Namespace
	}
	for _, e := range s.Endpoints {
		if service == "" || len(e.Addresses) == 0 {
			continue
		}
		h := keptHost{Namespace: namespace, Service: service, Type: s.AddressType, Address: e.Addresses[0], Ports: s.Ports}
		if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
			h.Pod = string(e.TargetRef.UID)
		}
		f.listed[h.key()] = true
		if h.Pod != "" {
			f.listed[h.podKey()] = true
		}
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			f.selected[h.key()] = h
		}
	}
}

func (f *inputFacts) addPod(p *corev1.Pod, namespace string) {
	if p.Namespace != "" {
		namespace = p.Namespace
	}
	ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	known := &podFacts{}
	f.pods[string(p.UID)] = known
	if !ready || p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
		return
	}
	for _, ip := range p.Status.PodIPs {
		known.addresses = append(known.addresses, ip.IP)
	}
	if len(known.addresses) == 0 && p.Status.PodIP != "" {
		known.addresses = []string{p.Status.PodIP}
	}
	for _, address := range known.addresses {
		key := namespace + "/" + address
		if _, shared := f.owners[key]; shared {
			f.owners[key] = "" // of the node: nothing tells whose sessions they are
			continue
		}
		f.owners[key] = string(p.UID)
	}
}
