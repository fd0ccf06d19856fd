package xds

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync"

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
	ScopedRoutes
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

	ScopedRoutes: typePrefix + "config.route.v3.ScopedRouteConfiguration",
}

var typeNames = [typeCount]string{
	Cluster: "clusters", Endpoint: "endpoints", Secret: "secrets", Filter: "filters", Routes: "routes",
	ScopedRoutes: "scopes", Listener: "listeners",
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

// Resource is something that an Envoy discovers by name. It does not change once it is in a snapshot, and is in those
// of one Gateway.
type Resource struct {
	Name string
	// Version is a hash of the content, so that every replica gives the same one.
	Version string
	// Needs are the clusters that routes lead to.
	Needs []string
	// Sharded is the form of a listener for an Envoy that finds its routes by shard; nil for none. Whole says of routes
	// that such an Envoy has scoped ones in their place. After is the table that it has to have before a scope that leads
	// there.
	Sharded *Resource
	Whole   bool
	After   string
	// LeadHere gives the scope of a name that leads to a table of routes. The name of a scope begins with that of the
	// site's whole table and a #, and ends with one if it only holds a table.
	LeadHere func(scope string) *Resource
	// Hosts are the virtual hosts of a table of which an Envoy may have some as they were, and WriteHosts gives its bytes
	// with other contents of them, in their order; nil for another resource.
	Hosts      []Host
	WriteHosts func(contents [][]byte) []byte
	// Trial is a listener with nothing but a filter, by which an Envoy shows that it takes that, or what Sharded needs.
	// Vary gives a filter's message in other bytes with each number, for Envoy takes what it refused last for taken when
	// that comes again.
	Trial *Resource
	Vary  func(content []byte, times int) []byte
	// Moved are addresses among endpoints that were another pod's, each with the pod that has it now. An Envoy gets the
	// endpoints Without those of which it does not know: it knows when it has the routes that were served when they moved,
	// with their session policies.
	Moved   []string
	Without func(moved []string) *Resource
	// Origin is the JSON that the resource was made from; nil where that does not matter.
	Origin []byte

	url     string            // of its type
	content func() []byte     // of the message
	sum     hashSum           // of type, name and version
	moved   map[string]uint64 // for each of Moved the number of the snapshot that it came with
	last    uint64            // the highest of those

	lock  sync.Mutex
	forms map[int]*Resource // without so many of Moved, the last ones; those that were asked for
}

// date notes that the resource comes with a snapshot, in the place of another one or of nil. What had moved before did
// so then.
func (r *Resource) date(was *Resource, snapshot uint64) {
	r.moved, r.forms = make(map[string]uint64, len(r.Moved)), map[int]*Resource{}
	for _, one := range r.Moved {
		r.moved[one] = snapshot
		if was != nil && was.moved[one] > 0 {
			r.moved[one] = was.moved[one]
		}
		r.last = max(r.last, r.moved[one])
	}
}

// knownBy is the resource for an Envoy that has the routes of all snapshots up to one; nil is nothing.
func (r *Resource) knownBy(routed uint64) *Resource {
	if r == nil || r.last <= routed {
		return r
	}
	var unknown []string
	for _, one := range r.Moved {
		if r.moved[one] > routed {
			unknown = append(unknown, one)
		}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	form := r.forms[len(unknown)]
	if form == nil {
		form = r.Without(unknown)
		r.forms[len(unknown)] = form
	}
	return form
}

// NewResource makes the resource of a message's bytes.
func NewResource(t Type, name string, content []byte) *Resource {
	sum := sha256.Sum256(content)
	return newResource(t, name, sum[:], func() []byte { return content })
}

// NewLater makes a resource whose bytes are made once somebody asks for it. The version is another one with other
// bytes.
func NewLater(t Type, name, version string, content func() []byte) *Resource {
	sum := sha256.Sum256([]byte(version))
	return newResource(t, name, sum[:], sync.OnceValue(content))
}

func newResource(t Type, name string, version []byte, content func() []byte) *Resource {
	r := &Resource{Name: name, Version: hex.EncodeToString(version[:12]), url: t.URL(), content: content}
	sum := sha256.Sum256([]byte(t.String() + "\x00" + name + "\x00" + r.Version))
	_, _ = binary.Decode(sum[:], binary.BigEndian, &r.sum)
	return r
}

// Body is the message, of the type's URL.
func (r *Resource) Body() *anypb.Any { return &anypb.Any{TypeUrl: r.url, Value: r.content()} }

// named is what the resource comes to for an Envoy that says that it has and wants it; nothing for nil.
func (r *Resource) named() int {
	if r == nil {
		return 0
	}
	return 2*(nameCost+len(r.Name)) + len(r.Version)
}

// body is the message for an Envoy that may have refused it so many times.
func (r *Resource) body(times int) *anypb.Any {
	if times == 0 || r.Vary == nil {
		return r.Body()
	}
	return &anypb.Any{TypeUrl: r.url, Value: r.Vary(r.content(), times)}
}
