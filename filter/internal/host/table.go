package host

// table finds values by the numbers of their contexts, which the host counts up. It is a hash table with linear probing
// whose hash is the number itself: of the few numbers in use at a time hardly two meet. TinyGo's own map takes five
// times as many instructions. The zero table is empty.
type table[T any] struct {
	slots []slot[T] // a power of two, at most half of them in use
	used  int
}

type slot[T any] struct {
	id    uint32
	value *T // nil in an empty slot
}

// findSlot returns where the number is, or where it would be. There must be slots.
func (t *table[T]) findSlot(id uint32) uint32 {
	mask := uint32(len(t.slots) - 1)
	i := id & mask
	for t.slots[i].value != nil && t.slots[i].id != id {
		i = (i + 1) & mask
	}
	return i
}

// get returns the value of a number, or nil.
func (t *table[T]) get(id uint32) *T {
	if t.used == 0 {
		return nil
	}
	return t.slots[t.findSlot(id)].value
}

// put sets the value of a number that has none.
func (t *table[T]) put(id uint32, value *T) {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	t.slots[t.findSlot(id)] = slot[T]{id, value}
	t.used++
}

func (t *table[T]) grow() {
	old := t.slots
	t.slots = make([]slot[T], max(64, 2*len(old)))
	for _, s := range old {
		if s.value != nil {
			t.slots[t.findSlot(s.id)] = s
		}
	}
}

// take returns the value of a number, or nil, and forgets it. Values behind it move up where its slot was in their way.
func (t *table[T]) take(id uint32) *T {
	if t.used == 0 {
		return nil
	}
	mask, hole := uint32(len(t.slots)-1), t.findSlot(id)
	value := t.slots[hole].value
	if value == nil {
		return nil
	}
	for i := (hole + 1) & mask; t.slots[i].value != nil; i = (i + 1) & mask {
		if home := t.slots[i].id & mask; (i-home)&mask >= (i-hole)&mask {
			t.slots[hole], hole = t.slots[i], i
		}
	}
	t.slots[hole] = slot[T]{}
	t.used--
	return value
}
