package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// sourcesOf makes objects of words such as team-3x1000: the third version of namespace team's object, of so many bytes; a namespace of
// "none" is none.
func sourcesOf(text string) read.List {
	var all []compiler.Source
	for word := range strings.FieldsSeq(text) {
		namespace, rest, _ := strings.Cut(word, "-")
		var version, size int
		if _, err := fmt.Sscanf(rest, "%dx%d", &version, &size); err != nil {
			panic(err)
		}
		name := "Kind/" + namespace + "/o"
		if namespace == "none" {
			name = "Kind/o"
		}
		all = append(all, compiler.Source{Name: name, Data: []byte(fmt.Sprintf("%d%s", version, strings.Repeat(" ", size-1)))})
	}
	slices.SortFunc(all, func(a, b compiler.Source) int { return strings.Compare(a.Name, b.Name) })
	return read.NewList(all...)
}

// TestTurns: of changes that come together, those of namespaces that change little are compiled first, and the others next; and whoever has
// had much waits for who has not.
func TestTurns(t *testing.T) {
	for name, c := range map[string]struct {
		inputs []string // one after the other
		passes []string // the namespaces whose objects are others than before
	}{
		"nothing, as with other keys":      {[]string{"a-1x10", "a-1x10"}, []string{""}},
		"few bytes go together":            {[]string{"a-1x10 b-1x10", "a-2x10 b-2x10"}, []string{"a b"}},
		"one is not split":                 {[]string{"a-1x10", "a-2x900000"}, []string{"a"}},
		"the small first":                  {[]string{"a-1x10 b-1x10", "a-2x100000 b-2x10"}, []string{"b", "a"}},
		"many small ones go together":      {[]string{"a-1x10 b-1x10 c-1x10", "a-2x100000 b-2x10 c-2x10"}, []string{"b c", "a"}},
		"the operator before all":          {[]string{"a-1x10 none-1x10", "a-2x10 none-2x100000"}, []string{"none", "a"}},
		"new ones":                         {[]string{"b-1x10", "a-1x100000 b-2x10"}, []string{"b", "a"}},
		"those that are gone":              {[]string{"a-1x10 b-1x10", "a-2x100000"}, []string{"b", "a"}},
		"of equals who had less":           {[]string{"a-1x10 b-1x10", "a-2x90000 b-1x10", "a-3x90000 b-2x90000"}, []string{"a", "b", "a"}},
		"half of what many change at once": {[]string{"a-1x9 b-1x9 c-1x9 d-1x9", "a-2x90000 b-2x90000 c-2x90000 d-2x90000"}, []string{"a b", "c", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			turns, last := turns{}, sourcesOf(c.inputs[0])
			var passes []string
			for _, text := range c.inputs[1:] {
				for waits := true; waits; {
					at := time.Unix(1000, 0)
					next, _, again := turns.take(last, sourcesOf(text), at, at)
					waits = !again.IsZero()
					passes = append(passes, strings.Join(listChanged(last, next), " "))
					last = next
				}
				if fmt.Sprint(last.Slice()) != fmt.Sprint(sourcesOf(text).Slice()) {
					t.Errorf("in the end it is %v", last.Slice())
				}
			}
			if !slices.Equal(passes, c.passes) {
				t.Errorf("passes are for %q, want %q", passes, c.passes)
			}
		})
	}
}

func listChanged(before, now read.List) []string {
	set, gone := read.Diff(before, now)
	for _, s := range set {
		gone = append(gone, s.Name)
	}
	slices.Sort(gone)
	for i, name := range gone {
		gone[i] = cmp.Or(namespaceOf(name), "none")
	}
	return gone
}

// TestTurnsAge: what a namespace has had counts for half after a while, and for nothing in the end.
func TestTurnsAge(t *testing.T) {
	turns, at := turns{}, time.Unix(1000, 0)
	turns.take(read.List{}, sourcesOf("a-1x100000"), at, at)
	for _, want := range []float64{100000, 50000, 25000} {
		turns.age(at)
		if got := turns.used["a"].bytes; got != want {
			t.Errorf("after %v it has had %v bytes, want %v", at.Sub(time.Unix(1000, 0)), got, want)
		}
		at = at.Add(halfLife)
	}
	if turns.age(at.Add(time.Minute)); len(turns.used) > 0 {
		t.Errorf("after a minute it is remembered: %v", turns.used)
	}
}

// TestTurnsComeRound: a large change goes through while others change a little at each pass.
func TestTurnsComeRound(t *testing.T) {
	turns, last, began := turns{}, sourcesOf("a-1x10 b-1x10"), time.Unix(1000, 0)
	for pass := range 100 {
		at := began.Add(time.Duration(pass) * 100 * time.Millisecond)
		now := sourcesOf(fmt.Sprintf("a-2x100000 b-%dx10", pass+2))
		next, _, _ := turns.take(last, now, at, at)
		if slices.Contains(listChanged(last, next), "a") {
			if pass == 0 || at.Sub(began) > longestWait {
				t.Errorf("its turn comes after %v", at.Sub(began))
			}
			return
		}
		last = next
	}
	t.Error("its turn never comes")
}

// changer is a namespace that changes all the time.
type changer struct {
	namespace string
	bytes     int
	took      time.Duration // by a pass for it
}

// passAt is for whom a pass was, and when it began.
type passAt struct {
	at time.Duration
	of []string
}

// runTurns gives the passes for namespaces within a span of time, in which each changes every ten milliseconds.
func runTurns(t *testing.T, span time.Duration, all ...changer) (passes []passAt) {
	t.Helper()
	turns, began := turns{}, time.Unix(1000, 0)
	textOf := func(version int) (text string) {
		for _, c := range all {
			text += fmt.Sprintf("%s-%dx%d ", c.namespace, version, c.bytes)
		}
		return text
	}
	last := sourcesOf(textOf(0))
	for at := began; at.Sub(began) < span; {
		next, _, again := turns.take(last, sourcesOf(textOf(1+int(at.Sub(began)/(10*time.Millisecond)))), at, at)
		pass, took := passAt{at.Sub(began), listChanged(last, next)}, time.Duration(0)
		for _, c := range all {
			if slices.Contains(pass.of, c.namespace) {
				took += c.took
			}
		}
		switch rest := again.Sub(at); {
		case len(pass.of) > 0:
			passes = append(passes, pass)
		case rest <= 0:
			t.Fatalf("nobody's turn is at %v, and the next at once", pass.at)
		default:
			took = min(rest, 10*time.Millisecond) // for the next change
		}
		at = at.Add(took)
		turns.end(at, took)
		last = next
	}
	return passes
}

// TestTurnsRest: whoever has much time of passes rests after each, four times as long and ten seconds at most, while others change
// something; what it changes meanwhile is one change. Alone it never rests.
func TestTurnsRest(t *testing.T) {
	for name, c := range map[string]struct {
		others []changer     // besides the one whose passes take long
		took   time.Duration // by each of these
		passes int           // of that one, while there is time for a hundred
	}{
		"while others change something": {[]changer{{"b", 10, time.Millisecond}}, 100 * time.Millisecond, 22},
		"of passes that take seconds":   {[]changer{{"b", 10, time.Millisecond}}, 4 * time.Second, 30},
		"alone":                         {nil, 100 * time.Millisecond, 100},
	} {
		t.Run(name, func(t *testing.T) {
			passes := 0
			for _, pass := range runTurns(t, 100*c.took, append(c.others, changer{"a", 1000, c.took})...) {
				if !slices.Contains(pass.of, "a") {
					continue
				}
				if passes++; c.took > restAfter && passes > 2 && len(pass.of) > 1 {
					t.Errorf("pass %d is for %q, who need not wait for each other", passes, pass.of)
				}
			}
			if passes != c.passes {
				t.Errorf("%d passes of %v, want %d", passes, c.took, c.passes)
			}
		})
	}
}

// TestTurnsOfMany: of several whose passes take long each has its own, one after the other, however many bytes it changes; and who changes
// little waits for one of them at most.
func TestTurnsOfMany(t *testing.T) {
	var heavy []string
	light := time.Duration(0)
	for i, pass := range runTurns(t, 5*time.Minute,
		changer{"few", 10, 4 * time.Second}, changer{"some", 1000, 4 * time.Second}, changer{"many", 100_000, 4 * time.Second},
		changer{"light", 10, time.Millisecond},
	) {
		if slices.Contains(pass.of, "light") {
			if light = pass.at; len(pass.of) == 1 {
				continue
			}
		}
		if pass.at < time.Minute {
			continue // it is not known yet whose take long
		}
		if heavy = append(heavy, pass.of...); len(pass.of) > 1 || pass.at-light > 4*time.Second {
			t.Errorf("pass %d is for %q, %v after that for who changes little", i, pass.of, pass.at-light)
		}
	}
	for i, namespace := range heavy[3:] {
		if namespace != heavy[i] {
			t.Errorf("turn %d is of %s, that of three before was of %s", i+3, namespace, heavy[i])
		}
	}
	if len(heavy) < 40 {
		t.Errorf("%d passes in four minutes", len(heavy))
	}
}

// TestTurnsLongestRested: of those that have rested the one goes that has for longest, whatever it is called and however much it changes.
func TestTurnsLongestRested(t *testing.T) {
	at := time.Unix(1000, 0)
	turns := turns{at: at, used: map[string]use{
		"a": {took: time.Second, restUntil: at.Add(-1)}, "b": {took: time.Second, restUntil: at.Add(-2)}, "c": {took: time.Second, restUntil: at.Add(1)},
	}}
	last := sourcesOf("a-1x10 b-1x10 c-1x10")
	next, _, _ := turns.take(last, sourcesOf("a-2x10 b-2x100000 c-2x10"), at, at)
	if got := listChanged(last, next); !slices.Equal(got, []string{"b"}) {
		t.Errorf("the pass is for %q", got)
	}
}

// TestTurnsBesideOneThatRests: while one rests, and so waits, another whose passes take long is found out all the same: others do not share
// its passes for good.
func TestTurnsBesideOneThatRests(t *testing.T) {
	shared, all := 0, 0
	for _, pass := range runTurns(t, 5*time.Minute,
		changer{"rests", 1000, 4 * time.Second}, changer{"long", 10, time.Second}, changer{"light", 10, time.Millisecond},
	) {
		if slices.Contains(pass.of, "long") {
			if all++; slices.Contains(pass.of, "light") {
				shared++
			}
		}
	}
	if shared > 3 || all < 30 {
		t.Errorf("%d of %d passes that take a second are for who changes little too", shared, all)
	}
}

// TestTurnsApart: after a pass for several that took long each has its own, so that it is known whose takes long.
func TestTurnsApart(t *testing.T) {
	turns, at := turns{}, time.Unix(1000, 0)
	changed := func(version int) []string {
		next, _, _ := turns.take(sourcesOf("a-0x10 b-0x10"), sourcesOf(fmt.Sprintf("a-%dx10 b-%dx10", version, version)), at, at)
		return listChanged(sourcesOf("a-0x10 b-0x10"), next)
	}
	if got := changed(1); len(got) != 2 {
		t.Errorf("the first pass is for %q", got)
	}
	turns.end(at, longPass)
	if got := changed(2); len(got) != 1 {
		t.Errorf("after a long one a pass is for %q", got)
	}
	at = at.Add(halfLife)
	if got := changed(3); len(got) != 2 {
		t.Errorf("after a while a pass is for %q", got)
	}
}
