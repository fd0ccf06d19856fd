package livereload

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
)

// Unselected remembers which pods Services selected, and gives those that run on after a Service has stopped selecting them
// back to the compiler, as hosts that drain (S42). It costs nothing where no policy says keepUnselected.
type Unselected struct {
	hosts  map[string]keptHost // by their keys
	memory Memory
	read   sourceReader
	// missing says that a policy wants pods to be kept, and that there are none in the input.
	missing bool
	last    []byte
}

// keptHost is a pod that a Service selects, or did.
type keptHost struct {
	Namespace string                     `json:"namespace"`
	Service   string                     `json:"service"`
	Type      discoveryv1.AddressType    `json:"type"`
	Address   string                     `json:"address"`
	Ports     []discoveryv1.EndpointPort `json:"ports"`
	// Pod is its UID: an address alone may be another pod's by now.
	Pod string `json:"pod"`
	// Left is when the Service was first seen without it; zero while it is selected.
	Left time.Time `json:"left,omitzero"`
}

// unselectedSource is what positions of the documents that stand for such pods are called.
const unselectedSource = "(pods that their Service no longer selects)"

// NewUnselected begins with what a file says, and keeps it up to date; without a file with nothing. A file that can't be
// read is an error, and what comes of it begins with nothing.
func NewUnselected(file string) (*Unselected, error) { return NewUnselectedIn(FileMemory(file)) }

// NewUnselectedIn is NewUnselected for any memory.
func NewUnselectedIn(m Memory) (*Unselected, error) {
	hosts, err := recall[string, keptHost](m)
	return &Unselected{hosts: hosts, memory: m}, err
}

// Extend gives the sources and, if there are any, the hosts that Services have left. The namespace is that of documents without one.
func (u *Unselected) Extend(sources []compiler.Source, namespace string, now time.Time) ([]compiler.Source, error) {
	if u == nil {
		return sources, nil
	}
	facts := u.read.read(sources, cmp.Or(namespace, metav1.NamespaceDefault))
	u.missing = facts.wanted && len(facts.pods) == 0
	next := map[string]keptHost{}
	if facts.wanted {
		next = u.advance(facts, now.Round(0).UTC().Truncate(time.Second))
	}
	if !reflect.DeepEqual(next, u.hosts) {
		u.hosts = next
		if err := u.save(); err != nil {
			return nil, err
		}
	}
	if text := u.writeSlices(); !bytes.Equal(text, u.last) {
		u.last = text
	}
	return u.Append(sources), nil
}

// Append gives the sources with the hosts that Services had left when Extend was asked last.
func (u *Unselected) Append(sources []compiler.Source) []compiler.Source {
	if u == nil || u.last == nil {
		return sources
	}
	return append(slices.Clip(sources), compiler.Source{Name: unselectedSource, Data: u.last})
}

// Problem says that pods are to be kept and that nothing tells which of them run; nil otherwise.
func (u *Unselected) Problem() *compiler.Problem {
	if u == nil || !u.missing {
		return nil
	}
	return &compiler.Problem{Path: "keepUnselected", Message: "not supported: there are no Pods in the input, or limpet may not list " +
		"and watch those of the cluster, so nothing tells a pod that its Service no longer selects from one that is gone: sessions leave both"}
}

// advance brings the memory to what the input says now.
func (u *Unselected) advance(facts inputFacts, now time.Time) map[string]keptHost {
	next := map[string]keptHost{}
	for key, host := range facts.selected {
		if host.Pod = cmp.Or(host.Pod, facts.owners[host.Namespace+"/"+host.Address]); host.Pod != "" {
			next[key] = host
		}
	}
	for key, was := range u.hosts {
		if facts.listed[key] || facts.listed[was.podKey()] || !facts.pods[was.Pod].serves(was.Address) {
			continue // it is an endpoint still, if only one that terminates; or the pod is gone, or is not ready
		}
		if was.Left.IsZero() {
			was.Left = now
		}
		next[key] = was
	}
	return next
}

// save has them remembered. Which pods Services select is worth nothing: slices will say it again.
func (u *Unselected) save() error {
	return remember(u.memory, u.hosts, func(h keptHost) bool { return !h.Left.IsZero() }, false)
}

// writeSlices writes an EndpointSlice for each host that its Service has left; nil for none.
func (u *Unselected) writeSlices() []byte {
	var list struct {
		APIVersion string                      `json:"apiVersion"`
		Kind       string                      `json:"kind"`
		Items      []discoveryv1.EndpointSlice `json:"items"`
	}
	for _, key := range slices.Sorted(maps.Keys(u.hosts)) {
		if h := u.hosts[key]; !h.Left.IsZero() {
			list.Items = append(list.Items, h.newSlice())
		}
	}
	if list.APIVersion, list.Kind = "v1", "List"; len(list.Items) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil // there is nothing in it that JSON lacks
	}
	return text
}

// newSlice is the host as an endpoint that terminates and serves, with a mark that tells it from those.
func (h keptHost) newSlice() discoveryv1.EndpointSlice {
	sum := sha256.Sum256([]byte(h.key()))
	no, yes := false, true
	return discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: discoveryv1.SchemeGroupVersion.String(), Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: h.Namespace, Name: "limpet-unselected-" + hex.EncodeToString(sum[:8]),
			Labels:      map[string]string{discoveryv1.LabelServiceName: h.Service},
			Annotations: map[string]string{backend.UnselectedSince: h.Left.Format(time.RFC3339)},
		},
		AddressType: h.Type, Ports: h.Ports,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{h.Address},
			Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", UID: types.UID(h.Pod)},
		}},
	}
}

// key names the host among those of all Services. Pods on their node's network share its address, and have ports of their own.
func (h keptHost) key() string {
	text := h.Namespace + "/" + h.Service + " " + h.Address
	for _, p := range h.Ports {
		if p.Port != nil {
			text += fmt.Sprintf(" %d", *p.Port)
		}
	}
	return text
}

// podKey names the pod among those of all Services.
func (h keptHost) podKey() string { return h.Namespace + "/" + h.Service + " pod " + h.Pod }
