package xds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClientRandom makes changes at random, while the Envoy answers late, and goes and comes back: at no moment do its
// routes lead to what is not there, and in the end it has what it should, and nothing else. Each fourth finds its routes by shard.
func TestClientRandom(t *testing.T) {
	for seed := range uint64(800) {
		random := rand.New(rand.NewPCG(seed, 1))
		shards := seed%4 == 3
		e := newFakeEnvoy(t)
		var last *Snapshot
		move := 0
		for range 40 {
			move += random.IntN(2)
			next := randomSnapshot(t, random, e.now, int(seed%3), move, shards)
			if last != nil && seed%2 == 0 { // one made of the last one, as a server makes them
				next = last.Edit(e.now, findEdits(last, next))
			}
			last = next
			if e.offer(last); random.IntN(4) == 0 {
				continue
			}
			e.pull()
			for range random.IntN(12) {
				e.step()
				holdsDirty(t, e.client)
			}
			switch random.IntN(20) {
			case 0:
				e.connect()
				e.offer(last)
			case 1:
				e.connectTo(last)
			}
		}
		e.pull()
		e.run()
		e.drain()
		e.drain() // of what was late
		if err := e.holds(last); err != nil || t.Failed() {
			t.Fatalf("seed %d: %v; %q", seed, err, e.tail())
		}
	}
}

// findEdits makes one snapshot of another.
func findEdits(from, to *Snapshot) map[Type]Edit {
	edits := map[Type]Edit{}
	for t := range typeCount {
		var e Edit
		for _, r := range to.Resources(t) {
			if was := from.findResource(t, r.Name); was == nil || was.Version != r.Version || was.last != r.last {
				e.Set = append(e.Set, r)
			}
		}
		for _, r := range from.Resources(t) {
			if to.findResource(t, r.Name) == nil {
				e.Removed = append(e.Removed, r.Name)
			}
		}
		edits[t] = e
	}
	return edits
}

// holdsDirty holds that what a client does not look at is as it ought to be: each name is dirty of which its Envoy has anything else.
func holdsDirty(t *testing.T, c *client) {
	t.Helper()
	if c.target == nil {
		return
	}
	for kind := range typeCount {
		k := &c.types[kind]
		all := maps.Clone(k.has)
		for _, s := range []*Snapshot{c.target, c.latest} {
			for _, r := range s.Resources(kind) {
				all[r.Name] += ""
			}
		}
		for name := range all {
			ought := c.form(kind, c.target.findResource(kind, name))
			if latest := c.latest.findResource(kind, name); kind == Endpoint && latest != nil {
				ought = latest
			}
			isRight := ought == nil && (k.has[name] == "" || !k.wildcard) ||
				ought != nil && k.isAt(name, ought.Version) && ought.last <= c.routed
			if !isRight && !c.dirty[kind][name] {
				t.Fatalf("%s %s is not as it ought to be, and is not looked at", kind, name)
			}
			latest, target := c.latest.findResource(kind, name), c.target.findResource(kind, name)
			isSame := latest == target || latest != nil && target != nil && latest.Version == target.Version
			if kind != Endpoint && !isSame && !c.ahead[kind][name] {
				t.Fatalf("%s %s is something else in the latest snapshot than in the target, and is not known to be", kind, name)
			}
		}
	}
}

// randomSnapshot has up to four listeners, and at least some, the routes of which lead to some of eight clusters. Some endpoints are at addresses that were other
// pods' before a move, which the routes know of.
func randomSnapshot(t *testing.T, random *rand.Rand, now time.Time, least, move int, shards bool) *Snapshot {
	t.Helper()
	var lines []string
	var knows strings.Builder
	for m := range move + 1 {
		fmt.Fprintf(&knows, " knows:%d", m)
	}
	used := map[int]bool{}
	for l := range max(random.IntN(4), least) {
		words := []string{"routes", fmt.Sprintf("r%d", l)}
		for range random.IntN(4) {
			c := random.IntN(8)
			used[c] = true
			words = append(words, fmt.Sprintf("cluster:c%d", c))
		}
		policy := fmt.Sprintf("policy:p%d-%d", l, random.IntN(3))
		listener := fmt.Sprintf("listener l%d routes:r%d filter:limpet v:%d", l, l, random.IntN(2))
		if shards && random.IntN(4) > 0 {
			lines = append(lines, randomScopes(random, l, strings.Join(words[2:], " ")+knows.String())...)
			words, listener = append(words, "whole"), listener+" shards"
		}
		lines = append(lines, strings.Join(append(words, policy), " ")+knows.String(), listener)
	}
	for _, c := range slices.Sorted(maps.Keys(used)) {
		lines = append(lines, fmt.Sprintf("cluster c%d v:%d", c, random.IntN(2)))
	}
	if len(lines) > 0 {
		lines = append(lines, fmt.Sprintf("filter limpet v:%d", random.IntN(2)))
	}
	s := listed(t, now, strings.Join(lines, "\n"))
	var moved []*Resource
	for _, r := range s.Resources(Endpoint) {
		if random.IntN(3) == 0 {
			acknowledged := string(r.Body().GetValue())
			moved = append(moved, unacknowledged(r.Name, fmt.Sprintf("%s moved:%d", acknowledged, move), acknowledged))
		}
	}
	return s.Edit(now, endpoints(moved...))
}

// randomScopes are the shards of a listener's site: some have a table of their own, some share one.
func randomScopes(random *rand.Rand, l int, content string) []string {
	lines := []string{
		fmt.Sprintf("scope r%d#t# table:r%d#t", l, l),
		fmt.Sprintf("routes r%d#t %s", l, content),
	}
	for shard := range 3 {
		leads := content
		if random.IntN(2) == 0 {
			leads = fmt.Sprintf("table:r%d#t", l)
		}
		lines = append(lines, fmt.Sprintf("scope r%d#%02d %s", l, shard, leads))
	}
	return lines
}
