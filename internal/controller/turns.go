package controller

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// turns lets namespaces of an API server take turns, so that one that changes much waits for those that change little.
// A pass costs what has changed, and each change waits for the pass that is under way.
type turns struct {
	// used is what each namespace has used recently.
	used map[string]use
	at   time.Time
	// last are the namespaces that the last pass was for.
	last []string
	// Until apart each namespace has a pass of its own. Until rests the namespaces wait that have used much.
	separateUntil, restUntil time.Time
}

// use is how many bytes of a namespace were compiled, and how long the passes took that were for it alone.
type use struct {
	bytes float64
	took  time.Duration
}

const (
	// turnSize is how many bytes of objects a pass for several namespaces takes at least: some dozens of objects. The
	// changes of a single namespace have no limit, for they may belong together.
	turnSize = 64 << 10
	// objectSize is the least that an object counts, and what a deleted one does.
	objectSize = 1 << 10
	// longestWait is how long a change waits for its turn at most: a namespace that changes a little all the time holds
	// nobody back for good.
	longestWait = 2 * time.Second
	// halfLife is how long it takes until what a namespace has used counts for half.
	halfLife = 2 * time.Second
	// longPass is how long a pass for several namespaces may take. After a longer one each has its own for a while, for
	// one of them is what takes so long.
	longPass = 100 * time.Millisecond
	// A namespace whose passes took muchTime rests after each pass, restTimes as long as the pass took. Its changes
	// meanwhile become one, and others rarely wait for its passes.
	restAfter = 200 * time.Millisecond
	restTimes = 4
)

// take returns the sources of the next pass: those of before, with the changes of the namespaces whose turn it is, or
// of all where one has waited for longestWait. It tells whether others wait, and when their turn may be.
func (t *turns) take(
	before, now read.List, at time.Time, waited time.Duration,
) (sources read.List, waiting bool, next time.Time) {
	set, gone := read.Diff(before, now)
	sizes := sizeChanges(set, gone)
	t.age(at)
	chosen := sizes
	if next = at; waited < longestWait {
		awake := t.leaveOutResting(sizes, at)
		chosen = t.choose(awake, at)
		if len(chosen) == 0 {
			next = t.restUntil
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
	waits := func(name string) bool {
		_, isChosen := chosen[namespaceOf(name)]
		return !isChosen
	}
	set = slices.DeleteFunc(set, func(s compiler.Source) bool { return waits(s.Name) })
	return before.With(set, slices.DeleteFunc(gone, waits)), true, next
}

// end notes how long the last pass took.
func (t *turns) end(at time.Time, took time.Duration) {
	switch {
	case len(t.last) > 1 && took >= longPass:
		t.separateUntil = at.Add(halfLife)
	case len(t.last) == 1:
		had := t.used[t.last[0]]
		had.took += took
		if t.used[t.last[0]] = had; t.hasUsedMuch(t.last[0]) {
			t.restUntil = at.Add(restTimes * took)
		}
	}
}

// hasUsedMuch tells whether a namespace has used much time while others have changed something, too. Objects without a
// namespace are the operator's, and always go first.
func (t *turns) hasUsedMuch(namespace string) bool {
	return namespace != "" && t.used[namespace].took >= restAfter && len(t.used) > 1
}

// leaveOutResting leaves out the namespaces that have used much, while they rest or others have changes.
func (t *turns) leaveOutResting(sizes map[string]int, at time.Time) map[string]int {
	others := maps.Clone(sizes)
	maps.DeleteFunc(others, func(namespace string, _ int) bool { return t.hasUsedMuch(namespace) })
	if len(others) > 0 || at.Before(t.restUntil) {
		return others
	}
	return sizes
}

// choose returns the namespaces whose turn it is, by the bytes that each has changed: those that have used the least,
// up to half of all bytes, or all if these are few.
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
	chosen, available := map[string]int{}, max(turnSize, total/2)
	for _, namespace := range inTurn {
		if available -= sizes[namespace]; len(chosen) > 0 && (available < 0 || at.Before(t.separateUntil)) {
			break
		}
		chosen[namespace] = sizes[namespace]
	}
	return chosen
}

// age halves what namespaces have used, once for each period that has passed.
func (t *turns) age(at time.Time) {
	if t.used == nil {
		t.used = map[string]use{}
	}
	for ; at.Sub(t.at) >= halfLife && len(t.used) > 0; t.at = t.at.Add(halfLife) {
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
func sizeChanges(set []compiler.Source, gone []string) map[string]int {
	sizes := map[string]int{}
	for _, s := range set {
		sizes[namespaceOf(s.Name)] += max(objectSize, len(s.Data))
	}
	for _, name := range gone {
		sizes[namespaceOf(name)] += objectSize
	}
	return sizes
}

// namespaceOf gives an object's namespace by its source's name, Kind/namespace/name; empty for none.
func namespaceOf(name string) string {
	if parts := strings.Split(name, "/"); len(parts) > 2 {
		return parts[1]
	}
	return ""
}
