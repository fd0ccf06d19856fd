package xds

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"sync/atomic"
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

// Snapshot is everything that the proxies of a Gateway ought to have, each resource of which is referred to. It does not
// change once it is made.
type Snapshot struct {
	// Generation is a hash of all of it, as it is once everything is settled.
	Generation string
	// Since is when the change was seen that led to it.
	Since time.Time

	number    uint64 // higher than those of all snapshots that were made before
	unsettled uint64 // at least the number of the last one with which endpoints came that have others to go before them

	resources [typeCount]map[string]*Resource
	sums      [typeCount]hashSum
	edited    [typeCount]edited
}

// edited says which names of a type are not what they were in the snapshot of before, and what that one's sum was.
type edited struct {
	from  hashSum
	names []string
}

// hashSum is the sum of the hashes of a type's resources, so that a change of one costs no look at the others.
type hashSum [sha256.Size / 8]uint64

// add adds a resource so many times. What overflows is lost.
func (s *hashSum) add(r *Resource, times uint64) {
	hash := sha256.Sum256([]byte(r.Name + "\x00" + r.Version))
	for i := range s {
		s[i] += times * binary.BigEndian.Uint64(hash[8*i:])
	}
}

// once is adding a resource, and back is taking it out again.
const (
	once uint64 = 1
	back        = ^uint64(0)
)

// hash is a hash of all types' resources.
func (s *Snapshot) hash() string {
	var text []byte
	for _, one := range s.sums {
		for _, word := range one {
			text = binary.BigEndian.AppendUint64(text, word)
		}
	}
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:6])
}

// Edit is what changes of a type's resources.
type Edit struct {
	Set     []*Resource
	Removed []string // names
}

func (e Edit) of(from hashSum) edited {
	names := slices.Clone(e.Removed)
	for _, r := range e.Set {
		names = append(names, r.Name)
	}
	return edited{from, names}
}

// NewSnapshot makes one of resources by their type.
func NewSnapshot(since time.Time, resources map[Type][]*Resource) *Snapshot {
	edits := map[Type]Edit{}
	for t, all := range resources {
		edits[t] = Edit{Set: all}
	}
	return (&Snapshot{}).Edit(since, edits)
}

// Edit is the snapshot after edits, for a change that was seen then. It costs what they touch, and a copy of the lists of names
// that these are in.
func (s *Snapshot) Edit(since time.Time, edits map[Type]Edit) *Snapshot {
	next := *s
	next.Since, next.number = since, snapshots.Add(1)
	for t := range typeCount {
		e := edits[t]
		if len(e.Set)+len(e.Removed) == 0 && s.resources[t] != nil {
			continue
		}
		next.edited[t] = e.of(s.sums[t])
		named := maps.Clone(s.resources[t])
		if named == nil {
			named = make(map[string]*Resource, len(e.Set))
		}
		for _, name := range e.Removed {
			next.replace(t, named[name], nil)
			delete(named, name)
		}
		for _, r := range e.Set {
			if r.since = next.number; r.Settled != nil {
				r.layer(named[r.Name], next.number)
				next.unsettled = max(next.unsettled, r.since)
			}
			next.replace(t, named[r.Name], r)
			named[r.Name] = r
		}
		next.resources[t] = named
	}
	next.Generation = next.hash()
	return &next
}

// snapshots counts those that were made, of all Gateways, for one that comes back begins anew.
var snapshots atomic.Uint64

// replace has one resource count in the place of another; nil is none.
func (s *Snapshot) replace(t Type, was, now *Resource) {
	if was != nil {
		s.sums[t].add(was, back)
	}
	if now != nil {
		s.sums[t].add(now, once)
	}
}

// Number is higher than those of all snapshots that were made before.
func (s *Snapshot) Number() uint64 { return s.number }

// At is the snapshot for a change that was seen at another time.
func (s *Snapshot) At(since time.Time) *Snapshot {
	next := *s
	next.Since = since
	return &next
}

// Resources are those of a type, by name.
func (s *Snapshot) Resources(t Type) []*Resource {
	all := make([]*Resource, 0, len(s.resources[t]))
	for _, name := range slices.Sorted(maps.Keys(s.resources[t])) {
		all = append(all, s.resources[t][name])
	}
	return all
}
