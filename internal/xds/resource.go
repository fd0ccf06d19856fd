package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

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

// Resource is something that an Envoy discovers by name. It does not change once it is made.
type Resource struct {
	Name string
	// Version is a hash of the content, so that every replica gives the same one.
	Version string
	// Body is the message, of the type's URL.
	Body *anypb.Any
	// Needs are the clusters that routes lead to.
	Needs []string
	// Origin is what the resource was made from; nil where that does not matter.
	Origin any
}

// NewResource makes the resource of a message's bytes.
func NewResource(t Type, name string, content []byte) *Resource {
	sum := sha256.Sum256(content)
	return &Resource{
		Name: name, Version: hex.EncodeToString(sum[:12]), Body: &anypb.Any{TypeUrl: t.URL(), Value: content},
	}
}

// Snapshot is everything that the proxies of a Gateway ought to have, each resource of which is referred to. It does not
// change once it is made.
type Snapshot struct {
	// Generation is a hash of all of it.
	Generation string
	// Since is when the change was seen that led to it.
	Since time.Time

	resources [typeCount]map[string]*Resource
}

// NewSnapshot makes one of resources by their type.
func NewSnapshot(since time.Time, resources map[Type][]*Resource) *Snapshot {
	s := &Snapshot{Since: since}
	for t := range s.resources {
		s.resources[t] = make(map[string]*Resource, len(resources[Type(t)]))
		for _, r := range resources[Type(t)] {
			s.resources[t][r.Name] = r
		}
	}
	s.Generation = s.hash()
	return s
}

// At is the snapshot for a change that was seen at another time.
func (s *Snapshot) At(since time.Time) *Snapshot {
	return &Snapshot{Generation: s.Generation, Since: since, resources: s.resources}
}

func (s *Snapshot) hash() string {
	h := sha256.New()
	for t, named := range s.resources {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			h.Write([]byte{byte(t)})
			h.Write([]byte(name + "\x00" + named[name].Version))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// Resources are those of a type, by name.
func (s *Snapshot) Resources(t Type) []*Resource {
	all := make([]*Resource, 0, len(s.resources[t]))
	for _, name := range slices.Sorted(maps.Keys(s.resources[t])) {
		all = append(all, s.resources[t][name])
	}
	return all
}

// WithEndpoints is the snapshot with other endpoints of some of its clusters; those of others are left out.
func (s *Snapshot) WithEndpoints(since time.Time, changed []*Resource) *Snapshot {
	next := &Snapshot{Since: since, resources: s.resources}
	next.resources[Endpoint] = maps.Clone(s.resources[Endpoint])
	for _, r := range changed {
		if next.resources[Endpoint][r.Name] != nil {
			next.resources[Endpoint][r.Name] = r
		}
	}
	next.Generation = next.hash()
	return next
}
