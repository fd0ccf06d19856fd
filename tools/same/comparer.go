package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// comparer compares two limpets on many inputs.
type comparer struct {
	starters [2]starter // the old limpet's and the new one's
	words    wordTable
	dir      string // for files of this run
	kept     string // for the texts of inputs that differ
}

// compared is an input and what came of it.
type compared struct {
	number int
	in     input
	old    *observation
	*comparison
	err error
}

// compareAll compares the limpets on all inputs, a few at a time. If the inputs are whole, there must be something of
// each sort to compare, or no difference means nothing.
func (c *comparer) compareAll(inputs []input, workers int, whole bool) (*summary, error) {
	numbers, results := make(chan int), make(chan compared)
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() { c.work(worker, inputs, numbers, results) })
	}
	go func() {
		for number := range inputs {
			numbers <- number
		}
		close(numbers)
		running.Wait()
		close(results)
	}()
	s := &summary{started: time.Now(), reworded: map[rewording]int{}}
	var failed error
	for r := range results {
		if failed = cmp.Or(failed, r.err); r.err == nil {
			s.add(r)
		}
		s.showProgress(len(inputs))
	}
	if failed == nil && whole {
		failed = s.checkCounts()
	}
	return s, failed
}

// work compares inputs whose numbers come, with two limpets of its own, until there are no more.
func (c *comparer) work(worker int, inputs []input, numbers <-chan int, results chan<- compared) {
	dir := filepath.Join(c.dir, fmt.Sprint("worker-", worker))
	err := os.MkdirAll(dir, 0o755)
	var runners [2]runner
	for i, start := range c.starters {
		run, stop := start()
		defer stop()
		runners[i] = run
	}
	for number := range numbers {
		r := compared{number: number, in: inputs[number]}
		if r.err = err; err == nil {
			r.err = c.compareOne(&r, runners, dir)
		}
		results <- r
	}
}

// compareOne has both limpets at one input.
func (c *comparer) compareOne(r *compared, runners [2]runner, dir string) error {
	if r.in.text != "" {
		r.in.path = filepath.Join(dir, "input.yaml")
		if err := os.WriteFile(r.in.path, []byte(r.in.text), 0o600); err != nil {
			return err
		}
	}
	var both [2]*observation
	for i, run := range runners {
		var err error
		if both[i], err = observe(run, r.in, dir); err != nil {
			return fmt.Errorf("%s: %w", r.in.name, err)
		}
	}
	if err := r.in.checkGolden(both[0]); err != nil {
		return err
	}
	r.old, r.comparison = both[0], compare(both[0], both[1], c.words)
	if len(r.differences) == 0 || r.in.text == "" {
		return nil
	}
	return c.keepText(&r.in)
}

// partlyWritten is limpet's exit code where some objects are refused and the rest is written.
const partlyWritten = 3

// checkGolden makes sure that the old limpet refuses what the golden files say, and nothing else. If it does not, this
// tool reads the options wrongly, and equal results mean nothing.
func (in *input) checkGolden(old *observation) error {
	if in.golden == "" {
		return nil
	}
	_, err := os.Stat(in.golden + ".err.txt")
	if refused := old.compiled.Code != 0 && old.compiled.Code != partlyWritten; refused != (err == nil) {
		return fmt.Errorf("%s: the golden files say otherwise: exit code %d: %s",
			in.name, old.compiled.Code, old.compiled.Stderr)
	}
	return nil
}

// keepText keeps the text of an input that is compared in a folder that goes away.
func (c *comparer) keepText(in *input) error {
	in.path = filepath.Join(c.kept, strings.ReplaceAll(in.name, "/", "-")+".yaml")
	return errors.Join(os.MkdirAll(c.kept, 0o755), os.WriteFile(in.path, []byte(in.text), 0o600))
}

// summary says how much was compared, and what differs.
type summary struct {
	started, reported time.Time

	inputs, compiled, refused, crashed               int
	configurations, problems, statuses, descriptions int
	// differing is how many inputs differ, with all their differences.
	differing, total int
	results          []compared // those that differ
	reworded         map[rewording]int
}

func (s *summary) add(r compared) {
	s.inputs++
	switch r.old.compiled.Code {
	case 0:
		s.compiled++
	case crashed:
		s.crashed++
	default:
		s.refused++
	}
	for name := range r.old.files {
		if name != "limpet.wasm" { // a copy of the filter
			s.configurations++
		}
	}
	s.problems += len(r.old.problems)
	s.statuses += len(r.old.statuses)
	for _, d := range r.old.descriptions {
		if d.code == 0 {
			s.descriptions++
		}
	}
	for _, m := range r.reworded {
		s.reworded[m]++
	}
	if len(r.differences) > 0 {
		s.differing++
		s.total += len(r.differences)
		s.results = append(s.results, r)
	}
}

// showProgress tells now and then how far the comparison is.
func (s *summary) showProgress(all int) {
	const every = 10 * time.Second
	if s.reported.IsZero() {
		s.reported = time.Now()
	}
	if time.Since(s.reported) >= every {
		s.reported = time.Now()
		fmt.Fprintf(os.Stderr, "same: %d of %d inputs, %d differ\n", s.inputs, all, s.differing)
	}
}

// checkCounts makes sure that something of each sort was compared.
func (s *summary) checkCounts() error {
	for sort, n := range map[string]int{
		"input that is compiled": s.compiled, "input that is refused": s.refused, "configuration": s.configurations,
		"problem": s.problems, "status": s.statuses, "description": s.descriptions,
	} {
		if n == 0 {
			return fmt.Errorf("there is no %s to compare", sort)
		}
	}
	return nil
}

// mostPrinted is how many differences, and how many new messages, are printed. Differences that look the same are
// printed once, for one cause often shows in many inputs.
const mostPrinted = 20

func (s *summary) print(out io.Writer) {
	slices.SortFunc(s.results, func(a, b compared) int { return a.number - b.number })
	printed := map[string]bool{}
	for _, r := range s.results {
		for _, d := range r.differences {
			if len(printed) < mostPrinted && !printed[d.detail] {
				printed[d.detail] = true
				command := strings.Join(r.in.compileArgs(), " ")
				fmt.Fprintf(out, "%s: %s\n%s\n  limpet %s\n", r.in.name, d.what, indent(d.detail), command)
			}
		}
	}
	s.printReworded(out)
	fmt.Fprintf(out, "compared %d inputs (%d compiled, %d refused, %d crashed) in %.0f s\n",
		s.inputs, s.compiled, s.refused, s.crashed, time.Since(s.started).Seconds())
	fmt.Fprintf(out, "with %d configurations, %d problems, %d statuses and %d descriptions\n",
		s.configurations, s.problems, s.statuses, s.descriptions)
	fmt.Fprintf(out, "%d differences in %d inputs\n", s.total, s.differing)
}

// printReworded lists new messages: no differences, but to be looked at.
func (s *summary) printReworded(out io.Writer) {
	if len(s.reworded) == 0 {
		return
	}
	fmt.Fprintf(out, "%d messages differ by more than words.txt says:\n", len(s.reworded))
	pairs := slices.SortedFunc(maps.Keys(s.reworded), func(a, b rewording) int {
		return strings.Compare(a.old+"\n"+a.now, b.old+"\n"+b.now)
	})
	for _, m := range pairs[:min(mostPrinted, len(pairs))] {
		fmt.Fprintf(out, "  - %s\n  + %s\n", m.old, m.now)
	}
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
