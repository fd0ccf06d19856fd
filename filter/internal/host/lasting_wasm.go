//go:build tinygo.wasm

package host

import "strconv"

// A configuration that changes gets a VM of its own, and Envoy keeps a counter's value only as long as some VM has
// defined it. So VMs leave the names of their counters to those that come after them, in the data that all VMs of
// limpet share: a new one defines them before it serves, and so before the old one ends.
//
// Under lastingKey stands how many names there are. Each has a number below that, under which it stands, and stands for
// itself, so that it gets one only once.
const (
	lastingKey = "limpet.counters"
	// maxLasting bounds the names: each costs a new VM two host calls and Envoy some 650 bytes. Counters beyond
	// it begin again with a new VM.
	maxLasting = 20_000
)

// defineLasting defines the counters of the VMs before this one.
func defineLasting() {
	count, _, known := sharedData(lastingKey)
	if !known {
		setSharedData(lastingKey, "0", 0) // on Envoy's main thread, which tries a configuration out before any other does
		return
	}
	n, _ := strconv.Atoi(count)
	for i := range n {
		if name, _, ok := sharedData(lastingKey + strconv.Itoa(i)); ok {
			define(counter, name)
		}
	}
}

// defineCounter defines one, now and in VMs to come.
func defineCounter(name string) uint32 {
	id := define(counter, name)
	own := lastingKey + " " + name
	if _, _, known := sharedData(own); !known {
		setSharedData(own, "", 0)
		leaveCounter(name)
	}
	return id
}

// leaveCounter gives a name a number that no other VM takes at the same time.
func leaveCounter(name string) {
	for {
		count, cas, known := sharedData(lastingKey)
		n, err := strconv.Atoi(count)
		if !known || err != nil || n >= maxLasting {
			return
		}
		if setSharedData(lastingKey, strconv.Itoa(n+1), cas) {
			setSharedData(lastingKey+strconv.Itoa(n), name, 0)
			return
		}
	}
}
