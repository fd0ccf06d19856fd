package controller

import (
	"maps"
	"math"
	"sync"

	"github.com/limpet-proxy/limpet/internal/xds"
)

// keeping knows which addresses that have passed to another pod are being written down, in the order in which they were
// seen. Until they are remembered no Envoy gets them as endpoints: should limpet end before, the next one would not
// know of the pods before. Nothing else waits for that.
type keeping struct {
	lock sync.Mutex
	// seen counts the times that there were any, and before has for those that are not remembered the number of the last
	// snapshot without.
	seen   int
	before map[int]uint64
}

// begin is for addresses that may be about to be seen. Done says that they are remembered, and with them all that were
// seen before; none that there are none.
func (k *keeping) begin(server *xds.Server) (done, none func()) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.seen++
	if k.before == nil {
		k.before = map[int]uint64{}
	}
	of := k.seen
	k.before[of] = xds.LastNumber()
	remove := func(first int) {
		k.lock.Lock()
		maps.DeleteFunc(k.before, func(at int, _ uint64) bool { return first <= at && at <= of })
		k.lock.Unlock()
		k.withhold(server)
	}
	return func() { remove(0) }, func() { remove(of) }
}

// withhold makes the server withhold what is not remembered yet.
func (k *keeping) withhold(server *xds.Server) {
	k.lock.Lock()
	defer k.lock.Unlock()
	least := uint64(math.MaxUint64)
	for _, number := range k.before {
		least = min(least, number)
	}
	server.Withhold(least)
}

// isDone tells whether all that was seen is remembered.
func (k *keeping) isDone() bool {
	k.lock.Lock()
	defer k.lock.Unlock()
	return len(k.before) == 0
}
