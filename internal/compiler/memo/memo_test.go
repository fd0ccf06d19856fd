package memo

import (
	"strconv"
	"strings"
	"testing"
)

// part is the inputs of a test's step: its result is the letter as often as the number says.
type part struct {
	letter string
	number int
}

func (p part) Key() string           { return p.letter }
func (p part) Equal(other part) bool { return p == other }

// word is a result. One with an x in it has something to say.
type word struct{ text string }

func (w *word) Silent() bool { return !strings.Contains(w.text, "x") }

// worker takes the step, and notes what it has made.
type worker struct{ made []string }

func (w *worker) makeWord(p part) *word {
	result := &word{strings.Repeat(p.letter, p.number)}
	w.made = append(w.made, result.text)
	return result
}

// TestTable takes a step in several rounds with one table. The requests of a round are part:number.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		name   string
		rounds []string
		made   string // in the last round
		kept   int    // after it
	}{
		{"a first time", []string{"a:1 b:1"}, "a b", 2},
		{"again", []string{"a:1 b:1", "b:1 a:1"}, "", 2},
		{"twice in a round", []string{"a:1 a:1"}, "a", 1},
		{"other inputs", []string{"a:1 b:1", "a:2 b:1"}, "aa", 2},
		{"to and fro", []string{"a:1", "a:2", "a:1"}, "a", 1},
		{"to and fro in a round", []string{"a:1 a:2 a:1"}, "a aa a", 1},
		{"left out of a round", []string{"a:1 b:1", "a:1", "a:1 b:1"}, "b", 2},
		{"a part less", []string{"a:1 b:1", "a:1"}, "", 1},
		{"no part left", []string{"a:1 b:1", ""}, "", 0},
		{"something to say", []string{"x:1 a:1", "x:1 a:1"}, "x", 1},
		{"nothing more to say", []string{"x:1", "x:0", "x:0"}, "", 1},
		{"something to say again", []string{"x:0", "x:1"}, "x", 0},
		{"something to say twice in a round", []string{"x:1 x:1 a:1", "x:1 x:1 a:1"}, "x x", 1},
	} {
		table, w := NewSilentTable[string, part, *word](), &worker{}
		for _, round := range c.rounds {
			w.made = nil
			w.take(t, table, round)
			table.Sweep()
		}
		if made := strings.Join(w.made, " "); made != c.made || len(table.entries) != c.kept {
			t.Errorf("%s: made %q and kept %d, not %q and %d", c.name, made, len(table.entries), c.made, c.kept)
		}
	}
}

// take asks a table for parts, and compares what it gives with what is made again.
func (w *worker) take(t *testing.T, table *Table[string, part, *word], requests string) {
	t.Helper()
	for request := range strings.FieldsSeq(requests) {
		letter, digits, _ := strings.Cut(request, ":")
		number, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatal(err)
		}
		p := part{letter, number}
		if got := table.Get(p, w.makeWord).text; got != strings.Repeat(letter, number) {
			t.Errorf("%s is %q", request, got)
		}
	}
}

// TestSameResult shows that a kept result is the very one that was made.
func TestSameResult(t *testing.T) {
	table, w := NewTable[string, part, *word](), &worker{}
	first := table.Get(part{"a", 1}, w.makeWord)
	if table.Get(part{"a", 1}, w.makeWord) != first {
		t.Error("equal inputs have two results")
	}
}

// TestNoTable shows that nil keeps nothing and can be looked after like any other.
func TestNoTable(t *testing.T) {
	var table *Table[string, part, *word]
	w := &worker{}
	w.take(t, table, "a:1 a:1 x:1")
	if len(w.made) != 3 {
		t.Errorf("made %v", w.made)
	}
	Sweep([]Step{table})
}

// TestGetAll asks for many parts at once, some of which are kept.
func TestGetAll(t *testing.T) {
	table := NewTable[string, part, *word]()
	makeWord := func(p part) *word { return &word{p.letter + strconv.Itoa(p.number)} }
	var parts []part
	for i := range 1000 {
		parts = append(parts, part{strconv.Itoa(i % 900), i / 900})
	}
	for _, number := range []int{0, 1, 1} {
		parts[7].number = number
		for i, w := range table.GetAll(parts, makeWord) {
			if w.text != makeWord(parts[i]).text {
				t.Fatalf("part %d is %s", i, w.text)
			}
		}
	}
}
