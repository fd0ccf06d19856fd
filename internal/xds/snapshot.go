package xds

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/utils/third_party/forked/golang/btree"
)

// Snapshot is everything that the proxies of a Gateway ought to have, each resource of which is referred to. It does
// not change once it is made.
type Snapshot struct {
	// Generation is a hash of all of it, as it is once Envoys know whose addresses endpoints are.
	Generation string
	// Since is when the change was seen that led to it.
	Since time.Time
	// Number is higher than those of all snapshots that were made before.
	Number uint64
	// Listeners is a hash of the listeners, which another replica gives too; empty for a Gateway that never had any.
	Listeners string

	tables [typeCount]*table
	sum    hashSum // of all resources
	named  int     // what their names come to for an Envoy that has and wants them all
	// edited are the names of which there is something else than in the snapshot that it was made from, which has the
	// number from.
	edited nameSets
	from   uint64
}

// nameSets are names of each type.
type nameSets [typeCount]map[string]bool

func (s *nameSets) add(t Type, name string) {
	if s[t] == nil {
		s[t] = map[string]bool{}
	}
	s[t][name] = true
}

func (s *nameSets) addAll(more nameSets) {
	for t, some := range more {
		if s[t] == nil {
			s[t] = maps.Clone(some)
		} else {
			maps.Copy(s[t], some)
		}
	}
}

func (s *nameSets) isEmpty() bool {
	return !slices.ContainsFunc(s[:], func(some map[string]bool) bool { return len(some) > 0 })
}

// table has resources by name. What a copy shares with its original is not changed.
type table = btree.BTree[entry]

type entry struct {
	name     string
	resource *Resource
}

// Edit is what changes of a type's resources.
type Edit struct {
	Set     []*Resource
	Removed []string // names
}

// NewSnapshot makes an empty one.
func NewSnapshot(since time.Time) *Snapshot {
	s := &Snapshot{Since: since, Number: snapshots.Add(1)}
	s.Generation = s.sum.hash()
	for t := range s.tables {
		s.tables[t] = btree.New(32, func(a, b entry) bool { return a.name < b.name })
	}
	return s
}

// Edit is the snapshot after edits, for a change that was seen then; itself if there are none. It costs what they
// touch.
func (s *Snapshot) Edit(since time.Time, edits map[Type]Edit) *Snapshot {
	next := *s
	next.Since, next.from, next.Number, next.edited = since, s.Number, snapshots.Add(1), nameSets{}
	for t, e := range edits {
		if len(e.Set)+len(e.Removed) > 0 {
			next.edit(t, e)
		}
	}
	if next.edited.isEmpty() {
		return s
	}
	next.Generation = next.sum.hash()
	if len(next.edited[Listener]) > 0 {
		var sum hashSum
		for _, r := range next.Resources(Listener) {
			sum.replace(nil, r)
		}
		next.Listeners = sum.hash()
	}
	return &next
}

func (s *Snapshot) edit(t Type, e Edit) {
	s.tables[t] = s.tables[t].Clone()
	for _, name := range e.Removed {
		was, _ := s.tables[t].Delete(entry{name: name})
		s.sum.replace(was.resource, nil)
		s.named -= was.resource.named()
		s.edited.add(t, name)
	}
	for _, r := range e.Set {
		was, _ := s.tables[t].ReplaceOrInsert(entry{r.Name, r})
		s.sum.replace(was.resource, r)
		s.named += r.named() - was.resource.named()
		s.edited.add(t, r.Name)
		if len(r.Moved) > 0 {
			r.date(was.resource, s.Number)
		}
	}
}

// snapshots counts those that were made, of all Gateways, for one that comes back begins again.
var snapshots atomic.Uint64

// findResource gives the resource of a name; nil if there is none.
func (s *Snapshot) findResource(t Type, name string) *Resource {
	if s == nil {
		return nil
	}
	found, _ := s.tables[t].Get(entry{name: name})
	return found.resource
}

// LastNumber is that of the last snapshot.
func LastNumber() uint64 { return snapshots.Load() }

// Resources are those of a type, by name.
func (s *Snapshot) Resources(t Type) (all []*Resource) {
	if s != nil {
		s.tables[t].Ascend(func(e entry) bool {
			all = append(all, e.resource)
			return true
		})
	}
	return all
}

// changesSince gives the names of which there may be something else than in another snapshot; nil has nothing.
func (s *Snapshot) changesSince(last *Snapshot) (changed nameSets) {
	if last != nil && s.from == last.Number {
		return s.edited
	}
	for t := range typeCount {
		for _, r := range s.Resources(t) {
			if was := last.findResource(t, r.Name); was == nil || was.Version != r.Version || len(r.Moved) > 0 {
				changed.add(t, r.Name)
			}
		}
		for _, r := range last.Resources(t) {
			if s.findResource(t, r.Name) == nil {
				changed.add(t, r.Name)
			}
		}
	}
	return changed
}

// hashSum is a hash of a resource, or the sum of those of several, so that a change of one costs no look at the others.
type hashSum [sha256.Size / 8]uint64

// replace has one resource count in the place of another; nil is none. What overflows is lost.
func (s *hashSum) replace(was, now *Resource) {
	for i := range s {
		if was != nil {
			s[i] -= was.sum[i]
		}
		if now != nil {
			s[i] += now.sum[i]
		}
	}
}

func (s *hashSum) hash() string {
	text, _ := binary.Append(nil, binary.BigEndian, s)
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:6])
}
