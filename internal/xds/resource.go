package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"google.golang.org/protobuf/types/known/anypb"
)

// Type is a type of resources that Envoys discover.
type Type int

// The types, in the order in which a client is given them.
const (
	Cluster Type = iota
	Endpoint
	Secret
	Filter
	Routes
	Listener
	typeCount
)

const typePrefix = "type.googleapis.com/envoy."

var typeURLs = [typeCount]string{
	Cluster:  typePrefix + "config.cluster.v3.Cluster",
	Endpoint: typePrefix + "config.endpoint.v3.ClusterLoadAssignment",
	Secret:   typePrefix + "extensions.transport_sockets.tls.v3.Secret",
	Filter:   typePrefix + "config.core.v3.TypedExtensionConfig",
	Routes:   typePrefix + "config.route.v3.RouteConfiguration",
	Listener: typePrefix + "config.listener.v3.Listener",
}

var typeNames = [typeCount]string{
	Cluster: "clusters", Endpoint: "endpoints", Secret: "secrets", Filter: "filters", Routes: "routes", Listener: "listeners",
}

// URL names the type as the protocol does.
func (t Type) URL() string { return typeURLs[t] }

// String names the type for people.
func (t Type) String() string { return typeNames[t] }

// findType gives the type of a URL.
func findType(url string) (Type, bool) {
	at := slices.Index(typeURLs[:], url)
	return Type(at), at >= 0
}

// Resource is something that an Envoy discovers by name. It does not change once it is in a snapshot, and is in those of one Gateway.
type Resource struct {
	Name string
	// Version is a hash of the content, so that every replica gives the same one.
	Version string
	// Body is the message, of the type's URL.
	Body *anypb.Any
	// Needs are the clusters that routes lead to.
	Needs []string
	// Trial is a listener with nothing but a filter, by which an Envoy shows that it takes that. Vary gives a filter's message in other
	// bytes with each number, for Envoy takes what it refused last for taken when that comes again.
	Trial *Resource
	Vary  func(content []byte, times int) []byte
	// Settled are endpoints without those whose addresses were another pod's. They are for an Envoy until it has the routes that were served
	// with the resource first, by whose session policies it knows of that. Nil where that makes no difference.
	Settled *Resource
	// Moved are the addresses that Settled is without, each with the pod that has it now; Without gives the endpoints without some of them.
	// An Envoy that knows of those that moved earlier keeps them while it has yet to learn of others. Without them all move at once.
	Moved   []string
	Without func(moved []string) *Resource
	// Origin is what the resource was made from; nil where that does not matter.
	Origin any

	since uint64            // the number of the snapshot that it came with, or that the last of Moved did
	moved map[string]uint64 // the numbers of those that each of Moved came with
}

// mostForms is of how many moves one after the other the endpoints are told apart that an Envoy knows of. Earlier ones count as one.
const mostForms = 4

// layer has endpoints go from Settled to what they are in steps, one for each snapshot of which an Envoy has to know. Was is the resource
// in the place of which this one comes, nil for none, and number is that of its snapshot.
func (r *Resource) layer(was *Resource, number uint64) {
	r.since, r.moved = number, make(map[string]uint64, len(r.Moved))
	var numbers []uint64
	for _, one := range r.Moved {
		r.moved[one] = number
		if was != nil && was.moved[one] > 0 {
			r.moved[one] = was.moved[one]
		}
		numbers = append(numbers, r.moved[one])
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	numbers = numbers[max(0, len(numbers)-mostForms):]
	for i, n := range numbers {
		if r.since = n; i == len(numbers)-1 {
			break
		}
		form := r.Without(slices.DeleteFunc(slices.Clone(r.Moved), func(one string) bool { return r.moved[one] <= n }))
		form.Settled, form.since = r.Settled, n
		r.Settled = form
	}
}

// NewResource makes the resource of a message's bytes.
func NewResource(t Type, name string, content []byte) *Resource {
	sum := sha256.Sum256(content)
	return &Resource{
		Name: name, Version: hex.EncodeToString(sum[:12]), Body: &anypb.Any{TypeUrl: t.URL(), Value: content},
	}
}

// body is the message for an Envoy that may have refused it so many times.
func (r *Resource) body(times int) *anypb.Any {
	if times == 0 || r.Vary == nil {
		return r.Body
	}
	return &anypb.Any{TypeUrl: r.Body.GetTypeUrl(), Value: r.Vary(r.Body.GetValue(), times)}
}
