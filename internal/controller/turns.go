package controller

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

// turns has namespaces of an API server take turns where they change much at once: whoever changes much waits for whoever changes little. A
// pass costs what has changed, and everybody's change waits for the one that is under way.
type turns struct {
	// used is how much of late each namespace has had compiled, in bytes.
	used map[string]float64
	at   time.Time
}

const (
	// turnSize is how many bytes of objects several namespaces may change in a pass at least: some dozens of objects. A single one's have
	// no limit, for they may belong together.
	turnSize = 64 << 10
	// objectSize is what an object counts at least, as one that is gone does.
	objectSize = 1 << 10
	// longestWait is how long a change waits for its turn: whoever changes a little all the time holds nobody back for good.
	longestWait = 2 * time.Second
	// halved is how long it takes until what a namespace has had counts for half.
	halved = 2 * time.Second
)

// take gives what the next pass is for: the sources as they were, with the changes of those whose turn it is, or all where one has waited
// for long. It tells whether others wait.
func (t *turns) take(before, now []compiler.Source, at time.Time, waited time.Duration) (sources []compiler.Source, waiting bool) {
	sizes := sizeChanges(before, now)
	t.age(at)
	chosen := t.choose(sizes)
	if waited >= longestWait {
		for namespace := range sizes {
			chosen[namespace] = true
		}
	}
	for namespace := range chosen {
		t.used[namespace] += float64(sizes[namespace])
	}
	if len(chosen) == len(sizes) {
		return now, false
	}
	visitChanges(before, now, func(was, is *compiler.Source) {
		if chosen[namespaceOf(was, is)] {
			was = is
		}
		if was != nil {
			sources = append(sources, *was)
		}
	})
	return sources, true
}

// choose gives the namespaces whose turn it is, of some that want to change so many bytes: those that have had the least, until half of it
// all is compiled, or all if it is not much.
func (t *turns) choose(sizes map[string]int) map[string]bool {
	weight, total := map[string]float64{}, 0
	for namespace, size := range sizes {
		weight[namespace] = t.used[namespace] + float64(size)
		total += size
	}
	delete(weight, "") // what is in no namespace is the operator's, and goes first
	inTurn := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[a], weight[b]), cmp.Compare(a, b))
	})
	chosen, room := map[string]bool{}, max(turnSize, total/2)
	for _, namespace := range inTurn {
		if room -= sizes[namespace]; room < 0 && len(chosen) > 0 {
			break
		}
		chosen[namespace] = true
	}
	return chosen
}

// age has what namespaces have had count for less.
func (t *turns) age(at time.Time) {
	if t.used == nil {
		t.used = map[string]float64{}
	}
	for ; at.Sub(t.at) >= halved && len(t.used) > 0; t.at = t.at.Add(halved) {
		for namespace := range t.used {
			if t.used[namespace] /= 2; t.used[namespace] < objectSize {
				delete(t.used, namespace)
			}
		}
	}
	if len(t.used) == 0 {
		t.at = at
	}
}

// sizeChanges says how many bytes each namespace changes.
func sizeChanges(before, now []compiler.Source) map[string]int {
	sizes := map[string]int{}
	visitChanges(before, now, func(was, is *compiler.Source) {
		size := objectSize
		switch {
		case was != nil && is != nil && sameBytes(was.Data, is.Data):
			return
		case is != nil:
			size = max(size, len(is.Data))
		}
		sizes[namespaceOf(was, is)] += size
	})
	return sizes
}

// visitChanges visits the sources of two lists in the order of their names: what each was and is, nil for one that was not or is gone.
func visitChanges(before, now []compiler.Source, visit func(was, is *compiler.Source)) {
	for len(before)+len(now) > 0 {
		switch {
		case len(now) == 0 || len(before) > 0 && before[0].Name < now[0].Name:
			visit(&before[0], nil)
			before = before[1:]
		case len(before) == 0 || now[0].Name < before[0].Name:
			visit(nil, &now[0])
			now = now[1:]
		default:
			visit(&before[0], &now[0])
			before, now = before[1:], now[1:]
		}
	}
}

// namespaceOf gives an object's namespace by its source's name, Kind/namespace/name; empty for none.
func namespaceOf(was, is *compiler.Source) string {
	if is == nil {
		is = was
	}
	if parts := strings.Split(is.Name, "/"); len(parts) > 2 {
		return parts[1]
	}
	return ""
}
