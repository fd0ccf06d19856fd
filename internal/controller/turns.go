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
	// Until separateUntil each namespace has a pass of its own.
	separateUntil time.Time
	// waiting is since when there is a change whose turn has not come; zero for none.
	waiting time.Time
	// hasYielded says that who has waited long and used much has let the others go before.
	hasYielded bool
}

// use is how many bytes of a namespace were compiled, how long passes and the last one took that were for it alone,
// when the last one began that was for it, and until when it rests.
type use struct {
	bytes            float64
	took, lastTook   time.Duration
	began, restUntil time.Time
}

const (
	// turnSize is how many bytes of objects a pass for several namespaces takes at least: some dozens of objects. The
	// changes of a single namespace have no limit, for they may belong together.
	turnSize = 64 << 10
	// objectSize is the least that an object counts, and what a deleted one does.
	objectSize = 1 << 10
	// longestWait is how long the change of a namespace that does not rest waits for its turn at most: one that changes a
	// little all the time holds nobody back for good.
	longestWait = 2 * time.Second
	// halfLife is how long it takes until what a namespace has used counts for half.
	halfLife = 2 * time.Second
	// longPass is how long a pass for several namespaces may take. After a longer one each has its own for a while, for
	// one of them is what takes so long: for halfLife, or as long as that one would rest.
	longPass = 100 * time.Millisecond
	// A namespace whose last pass or passes took restAfter rests after each pass, restTimes as long as that took, and
	// longestRest at most. Its changes meanwhile become one, and others rarely wait for its passes.
	restAfter   = 200 * time.Millisecond
	restTimes   = 4
	longestRest = 10 * time.Second
)

// take returns the sources of the next pass: those of before, with the changes of the namespaces whose turn it is. It
// gives the time of the first sign of a change that is in it, by that of the last changes, and when the turn of others
// may be, zero if none wait.
func (t *turns) take(
	before, now read.List, at, last time.Time,
) (sources read.List, since, next time.Time) {
	set, gone := read.Diff(before, now)
	sizes := sizeChanges(set, gone)
	first, waitsLong := last, false
	if !t.waiting.IsZero() {
		first, waitsLong = t.waiting, at.Sub(t.waiting) >= longestWait
	}
	t.age(at)
	chosen := t.choose(sizes, at, waitsLong)
	t.last = slices.Sorted(maps.Keys(chosen))
	for namespace, size := range chosen {
		had := t.used[namespace]
		had.bytes, had.began = had.bytes+float64(size), at
		t.used[namespace] = had
	}
	if len(chosen) == len(sizes) {
		t.waiting = time.Time{}
		return now, first, time.Time{}
	}
	t.waiting = first
	if next = at; len(chosen) == 0 {
		next = t.used[t.firstRested(sizes)].restUntil
	}
	waits := func(name string) bool {
		_, isChosen := chosen[namespaceOf(name)]
		return !isChosen
	}
	set = slices.DeleteFunc(set, func(s compiler.Source) bool { return waits(s.Name) })
	return before.With(set, slices.DeleteFunc(gone, waits)), last, next
}

// end notes how long the last pass took.
func (t *turns) end(at time.Time, took time.Duration) {
	rest := min(restTimes*took, longestRest)
	switch {
	case len(t.last) > 1 && took >= longPass:
		t.separateUntil = at.Add(max(halfLife, rest))
	case len(t.last) == 1:
		had := t.used[t.last[0]]
		had.took, had.lastTook, had.restUntil = had.took+took, took, at.Add(rest)
		t.used[t.last[0]] = had
	}
}

// hasUsedMuch tells whether a namespace has used much time. Objects without a namespace are the operator's, and always
// go first.
func (t *turns) hasUsedMuch(namespace string) bool {
	return namespace != "" && max(t.used[namespace].took, t.used[namespace].lastTook) >= restAfter
}

// firstRested gives the one of some namespaces that has rested first, or will have.
func (t *turns) firstRested(sizes map[string]int) string {
	return slices.MinFunc(slices.Collect(maps.Keys(sizes)), func(a, b string) int {
		return cmp.Or(t.used[a].restUntil.Compare(t.used[b].restUntil), cmp.Compare(a, b))
	})
}

// choose returns the namespaces whose turn it is, by the bytes that each has changed: those that have used little time
// before those that have used much and have rested, as nobody has to who is alone. Once one has waited for longestWait,
// that is so for one pass only. Of those that have used much, the one that has rested longest has a pass of its own.
func (t *turns) choose(sizes map[string]int, at time.Time, waitsLong bool) map[string]int {
	little, rested := map[string]int{}, map[string]int{}
	if len(sizes) == 1 && len(t.used) < 2 {
		return sizes
	}
	for namespace, size := range sizes {
		if !t.hasUsedMuch(namespace) {
			little[namespace] = size
		} else if !at.Before(t.used[namespace].restUntil) {
			rested[namespace] = size
		}
	}
	if len(little) == 0 || len(rested) > 0 && t.hasYielded {
		t.hasYielded = false
		if len(rested) == 0 {
			return nil
		}
		first := t.firstRested(rested)
		return map[string]int{first: rested[first]}
	}
	t.hasYielded = waitsLong && len(rested) > 0
	if waitsLong && !at.Before(t.separateUntil) {
		return little
	}
	return t.chooseLeast(little, at)
}

// chooseLeast returns the namespaces that have used the least, up to half of all bytes, or all if these are few.
func (t *turns) chooseLeast(sizes map[string]int, at time.Time) map[string]int {
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
			t.used[namespace] = had
			if had.bytes < objectSize && had.took < time.Millisecond && at.Sub(had.began) >= longestRest {
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
