package controller

import (
	"math"
	"sync"

	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// keeping knows which addresses that have passed to another pod are being written down, in the order in which they were
// seen. Until they are remembered no Envoy gets them as endpoints: should limpet end before, the next one would not
// know of the pods before. Nothing else waits for that.
type keeping struct {
	lock sync.Mutex
	// seen counts the times that there were any, and before has for the last of these, which are not remembered, the
	// numbers of the last snapshots without them.
	seen   int
	before []uint64
}

// keep has addresses that were just seen written down, and the server withhold them until they are.
func (k *keeping) keep(owners *memory.Owners, server *xds.Server) error {
	k.lock.Lock()
	k.seen++
	of := k.seen
	k.before = append(k.before, xds.LastNumber())
	k.lock.Unlock()
	err := owners.Keep(func() { // and all that were seen before
		k.lock.Lock()
		later := min(k.seen-of, len(k.before))
		k.before = k.before[len(k.before)-later:]
		k.lock.Unlock()
		k.withhold(server)
	})
	if err != nil { // they are not waited for
		k.lock.Lock()
		k.seen--
		k.before = k.before[:len(k.before)-1]
		k.lock.Unlock()
	}
	k.withhold(server)
	return err
}

// withhold makes the server withhold what is not remembered yet.
func (k *keeping) withhold(server *xds.Server) {
	k.lock.Lock()
	defer k.lock.Unlock()
	last := uint64(math.MaxUint64)
	if len(k.before) > 0 {
		last = k.before[0]
	}
	server.Withhold(last)
}

// isDone tells whether all that was seen is remembered.
func (k *keeping) isDone() bool {
	k.lock.Lock()
	defer k.lock.Unlock()
	return len(k.before) == 0
}
