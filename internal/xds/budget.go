package xds

import "sync"

// What is reckoned for a stream, and for each name that an Envoy says that it has or wants: entries of maps, besides the text.
const (
	streamCost = 64 << 10
	nameCost   = 100
)

// moreThanServed is what an Envoy may say that it has and wants besides twice what there is for it, as that is reckoned: of what was served
// before, and of what leads to nothing.
const moreThanServed = 2 << 20

// moreThanNames is what a message may have besides names that are served: an Envoy says in 60 kB what it is.
const moreThanNames = 1 << 20

// mostMessage is the size of a message of a Gateway's Envoys, whose names come to so much: each name that is served twice, with room for
// its version and more. Of a peer of which only the namespace is known, or not even that, it is that of the largest Gateway that it may be
// for.
func mostMessage(named int) int { return named + moreThanNames }

// budget is what the Envoys of all Gateways may cost together, in bytes. A namespace may have three quarters of it, and where all is used
// no more than its part of it.
type budget struct {
	most int // 0 for any number

	lock sync.Mutex
	all  int
	of   map[string]int // by namespace
}

// change takes more for a namespace, or less; false if there is not so much.
func (b *budget) change(namespace string, by int) bool {
	if b.most == 0 {
		return true
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	own := b.of[namespace] + by
	parts := max(1, len(b.of))
	if by > 0 && (own > b.most/4*3 || b.all+by > b.most && own > b.most/parts) {
		return false
	}
	b.all += by
	if b.of[namespace] = own; own == 0 {
		delete(b.of, namespace)
	}
	return true
}
