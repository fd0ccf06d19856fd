package xds

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// What is reckoned for a stream, and for each name that an Envoy says that it has or wants: entries of maps, besides
// the text.
const (
	streamCost = 64 << 10
	nameCost   = 100
)

// moreThanServed is what an Envoy may say that it has and wants besides twice what there is for it, as that is
// reckoned: of what was served before, and of what leads to nothing.
const moreThanServed = 2 << 20

// moreThanNames is what a message may have besides names that are served: an Envoy says in 60 kB what it is.
const moreThanNames = 1 << 20

// mostMessage is the size of a message of a Gateway's Envoys, whose names come to so much: each name that is served
// twice, with room for its version and more. Of a peer of which only the namespace is known, or not even that, it is
// that of the largest Gateway that it may be for.
func mostMessage(named int) int { return named + moreThanNames }

// budget is what the Envoys of all Gateways may cost together, in bytes. A namespace may have three quarters of it.
// Where all is used, who has no more than an equal part may have it, and the connections that cost the most go of who
// has more.
type budget struct {
	most int // 0 for any number

	lock    sync.Mutex
	all     int
	of      map[string]int // by namespace
	streams map[*stream]int
}

func newBudget(most int) budget {
	return budget{most: most, of: map[string]int{}, streams: map[*stream]int{}}
}

// reckon has a stream cost so much, and not what it has cost before; false if there is not so much, or the stream has
// to go. It gives those that have to go for it.
func (b *budget) reckon(one *stream, cost int) (is bool, going []*stream) {
	if b.most == 0 {
		return true, nil
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	by := cost - b.streams[one]
	own := b.of[one.namespace] + by
	parts := max(1, len(b.of))
	if one.goes || by > 0 && (own > b.most/4*3 || b.all+by > b.most && own > b.most/parts) {
		return false, nil
	}
	b.set(one, cost)
	for b.all > b.most {
		most := b.findMost()
		b.set(most, 0)
		most.goes = true
		going = append(going, most)
	}
	return true, going
}

func (b *budget) set(one *stream, cost int) {
	by := cost - b.streams[one]
	b.all += by
	if b.of[one.namespace] += by; b.of[one.namespace] == 0 {
		delete(b.of, one.namespace)
	}
	if b.streams[one] = cost; cost == 0 {
		delete(b.streams, one)
	}
}

// findMost finds the stream that costs the most, of the namespace whose streams do.
func (b *budget) findMost() *stream {
	return slices.MaxFunc(slices.Collect(maps.Keys(b.streams)), func(one, other *stream) int {
		return cmp.Or(cmp.Compare(b.of[one.namespace], b.of[other.namespace]), cmp.Compare(b.streams[one], b.streams[other]))
	})
}
