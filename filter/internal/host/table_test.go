package host

import (
	"math/rand/v2"
	"testing"
)

// TestTable puts and takes numbers as a host does, mostly counting up and some far apart, and compares with Go's map.
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var table table[int]
	want := map[uint32]*int{}
	next := uint32(1<<32 - 3000) // it wraps around
	for round := range 20_000 {
		next += 1 + uint32(random.IntN(2)*random.IntN(3)*64)
		value := round
		if want[next] == nil {
			table.put(next, &value)
			want[next] = &value
		}
		for id := range want { // in an order of Go's choice
			if len(want) > 40 || random.IntN(3) == 0 {
				if got := table.take(id); got != want[id] {
					t.Fatalf("round %d: took %v for %d, want %v", round, got, id, want[id])
				}
				delete(want, id)
			}
			break
		}
	}
	for id, value := range want {
		if got := table.get(id); got != value {
			t.Errorf("%d: %v, want %v", id, got, value)
		}
	}
	if table.used != len(want) || table.get(next+1) != nil || table.take(next+1) != nil {
		t.Errorf("%d in use, want %d; a number that was never put is there: %v", table.used, len(want), table.get(next+1))
	}
	if len(table.slots) > 256 {
		t.Errorf("%d slots for at most 41 numbers", len(table.slots))
	}
}
