package controller

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

// turns has namespaces of an API server take turns where they change much at once: whoever changes much waits for
// whoever changes little. A pass costs what has changed, and everybody's change waits for the one that is under way.
type turns struct {
	// used is what each namespace has had of late.
	used map[string]use
	at   time.Time
	// last are the namespaces that the last pass was for.
	last []string
	// apart is until when each namespace has a pass of its own, and rests until when those wait that have had much.
	apart, rests time.Time
}

// use is how many bytes a namespace has had compiled, and how long the passes took that were for it alone.
type use struct {
	bytes float64
	took  time.Duration
}

const (
	// turnSize is how many bytes of objects several namespaces may change in a pass at least: some dozens of objects. A
	// single one's have no limit, for they may belong together.
	turnSize = 64 << 10
	// objectSize is what an object counts at least, as one that is gone does.
	objectSize = 1 << 10
	// longestWait is how long a change waits for its turn: whoever changes a little all the time holds nobody back for
	// good.
	longestWait = 2 * time.Second
	// halved is how long it takes until what a namespace has had counts for half.
	halved = 2 * time.Second
	// longPass is how long a pass for several takes after which each has its own for a while: one of them is what takes so
	// long.
	longPass = 100 * time.Millisecond
	// muchTime is from how much time of passes on a namespace rests after one, restTimes as long as that took: its changes
	// of meanwhile are one, and others mostly meet no pass of its.
	muchTime  = 200 * time.Millisecond
	restTimes = 4
)

// take gives what the next pass is for: the sources as they were, with the changes of those whose turn it is, or all
// where one has waited for long. It tells whether others wait, and when their turn may be.
func (t *turns) take(
	before, now []compiler.Source, at time.Time, waited time.Duration,
) (sources []compiler.Source, waiting bool, next time.Time) {
	sizes := sizeChanges(before, now)
	t.age(at)
	chosen := sizes
	if next = at; waited < longestWait {
		awake := t.leaveOutResting(sizes, at)
		chosen = t.choose(awake, at)
		if len(chosen) == 0 {
			next = t.rests
		}
	}
	t.last = slices.Sorted(maps.Keys(chosen))
	for namespace, size := range chosen {
		had := t.used[namespace]
		had.bytes += float64(size)
		t.used[namespace] = had
	}
	if len(chosen) == len(sizes) {
		return now, false, next
	}
	visitChanges(before, now, func(was, is *compiler.Source) {
		if _, itsTurn := chosen[namespaceOf(was, is)]; itsTurn {
			was = is
		}
		if was != nil {
			sources = append(sources, *was)
		}
	})
	return sources, true, next
}

// end notes how long the pass took that was taken last.
func (t *turns) end(at time.Time, took time.Duration) {
	switch {
	case len(t.last) > 1 && took >= longPass:
		t.apart = at.Add(halved)
	case len(t.last) == 1:
		had := t.used[t.last[0]]
		had.took += took
		if t.used[t.last[0]] = had; t.hasHadMuch(t.last[0]) {
			t.rests = at.Add(restTimes * took)
		}
	}
}

// hasHadMuch tells whether a namespace has had much of the time while others have changed something, too. What is in
// none is the operator's.
func (t *turns) hasHadMuch(namespace string) bool {
	return namespace != "" && t.used[namespace].took >= muchTime && len(t.used) > 1
}

// leaveOutResting leaves namespaces out that have had much: while they rest, and where others want something.
func (t *turns) leaveOutResting(sizes map[string]int, at time.Time) map[string]int {
	others := maps.Clone(sizes)
	maps.DeleteFunc(others, func(namespace string, _ int) bool { return t.hasHadMuch(namespace) })
	if len(others) > 0 || at.Before(t.rests) {
		return others
	}
	return sizes
}

// choose gives the namespaces whose turn it is, of some that want to change so many bytes: those that have had the
// least, until half of it all is compiled, or all if it is not much.
func (t *turns) choose(sizes map[string]int, at time.Time) map[string]int {
	weight, total := map[string]float64{}, 0
	for namespace, size := range sizes {
		weight[namespace] = t.used[namespace].bytes + float64(size)
		total += size
	}
	delete(weight, "") // what is in no namespace is the operator's, and goes first
	inTurn := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[a], weight[b]), cmp.Compare(a, b))
	})
	chosen, room := map[string]int{}, max(turnSize, total/2)
	for _, namespace := range inTurn {
		if room -= sizes[namespace]; len(chosen) > 0 && (room < 0 || at.Before(t.apart)) {
			break
		}
		chosen[namespace] = sizes[namespace]
	}
	return chosen
}

// age has what namespaces have had count for less.
func (t *turns) age(at time.Time) {
	if t.used == nil {
		t.used = map[string]use{}
	}
	for ; at.Sub(t.at) >= halved && len(t.used) > 0; t.at = t.at.Add(halved) {
		for namespace, had := range t.used {
			had.bytes, had.took = had.bytes/2, had.took/2
			if t.used[namespace] = had; had.bytes < objectSize && had.took < time.Millisecond {
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

// visitChanges visits the sources of two lists in the order of their names: what each was and is, nil for one that was
// not or is gone.
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
