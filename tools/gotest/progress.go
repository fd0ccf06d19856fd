package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is one of go test -json; see 'go doc test2json'.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

// suite is a package whose tests are under way.
type suite struct {
	name    string
	output  string               // its own, of no test
	outputs map[string]string    // of tests that have not ended, by the name of the outermost
	since   map[string]time.Time // of outermost tests that run, not those that wait for their turn
	done    int                  // how many have ended

	unfinished int  // tests that have begun and not ended, paused ones too
	races      bool // a data race was found
}

// progress makes of events what go test prints.
type progress struct {
	stdout, stderr io.Writer
	now            func() time.Time
	begin          time.Time
	suites         map[string]*suite
	done           int // packages
	ended          []ended
	failed         map[string][]string // outermost tests, by package; none where the package itself failed
}

// ended is a test that has ended, by its package and name, and what it took. Where tests run side by side it is what
// they took together.
type ended struct {
	name string
	took time.Duration
}

func newProgress(stdout, stderr io.Writer) *progress {
	return &progress{
		stdout: stdout, stderr: stderr, now: time.Now, begin: time.Now(), suites: map[string]*suite{},
		failed: map[string][]string{},
	}
}

// line takes a line of go test -json. What is none, such as an error of go itself, is printed as it is.
func (p *progress) line(text string) {
	var e event
	if json.Unmarshal([]byte(text), &e) != nil || e.Action == "" {
		fmt.Fprint(p.stdout, text)
		return
	}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(p.stdout, e.Output)
	case e.Package == "":
	case e.Test == "":
		p.suiteEvent(p.suite(e.Package), e)
	default:
		p.testEvent(p.suite(e.Package), e)
	}
}

func (p *progress) suite(name string) *suite {
	if p.suites[name] == nil {
		p.suites[name] = &suite{name: name, outputs: map[string]string{}, since: map[string]time.Time{}}
	}
	return p.suites[name]
}

// suiteEvent is one of a package. At its end the line that go test closes it with is printed; where it failed, all that
// it said, and what tests said that did not come to their end.
func (p *progress) suiteEvent(s *suite, e event) {
	switch e.Action {
	case "output":
		s.output += e.Output
	case "pass", "skip":
		lines := strings.SplitAfter(strings.TrimSuffix(s.output, "\n"), "\n")
		fmt.Fprintln(p.stdout, lines[len(lines)-1])
		p.end(s)
	case "fail":
		for _, test := range slices.Sorted(maps.Keys(s.outputs)) {
			fmt.Fprint(p.stdout, s.outputs[test])
		}
		fmt.Fprint(p.stdout, s.output)
		if !s.isWhole() {
			p.failed[s.name] = nil
		}
		p.end(s)
	}
}

// isWhole tells whether all tests have come to their end, which testing says, and none of them met a data race. After a
// panic, a time limit or an exit there is no telling what was not run.
func (s *suite) isWhole() bool {
	return s.unfinished == 0 && strings.Contains("\n"+s.output, "\nFAIL\n") && !s.races
}

func (p *progress) end(s *suite) {
	delete(p.suites, s.name)
	p.done++
}

// testEvent is one of a test. What an outermost test and its subtests said is printed where it fails, and forgotten
// where it does not.
func (p *progress) testEvent(s *suite, e event) {
	test, _, inner := strings.Cut(e.Test, "/")
	switch {
	case e.Action == "output":
		s.races = s.races || strings.Contains(e.Output, "WARNING: DATA RACE")
		if !strings.HasPrefix(e.Output, "=== ") {
			s.outputs[test] += e.Output
		}
	case inner:
	case e.Action == "run" || e.Action == "cont":
		if e.Action == "run" {
			s.unfinished++
		}
		s.since[test] = p.now()
	case e.Action == "pause":
		delete(s.since, test)
	default:
		if e.Action == "fail" {
			fmt.Fprint(p.stdout, s.outputs[test])
			p.failed[s.name] = append(p.failed[s.name], test)
		}
		delete(s.since, test)
		delete(s.outputs, test)
		s.done++
		s.unfinished--
		p.ended = append(p.ended, ended{e.Package + " " + test, time.Duration(e.Elapsed * float64(time.Second))})
	}
}

// listSlowest says which tests took longest.
func (p *progress) listSlowest(count int) {
	slices.SortFunc(
		p.ended,
		func(a, b ended) int { return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.name, b.name)) },
	)
	for _, test := range p.ended[:min(count, len(p.ended))] {
		fmt.Fprintf(p.stderr, "test:   %6.1f s  %s\n", test.took.Seconds(), test.name)
	}
}

// speak says what is under way: how far each package is, and its tests that have run longest.
func (p *progress) speak() {
	var parts []string
	for _, s := range slices.SortedFunc(maps.Values(p.suites), func(a, b *suite) int {
		return cmp.Compare(a.name, b.name)
	}) {
		if len(s.since) > 0 {
			parts = append(parts, s.state(p.now()))
		}
	}
	fmt.Fprintf(p.stderr, "test:   still at it (%.0f s): %d packages done", p.now().Sub(p.begin).Seconds(), p.done)
	if len(parts) > 0 {
		fmt.Fprint(p.stderr, "; ", strings.Join(parts, "; "))
	}
	fmt.Fprintln(p.stderr)
}

// mostShown is how many tests of a package are shown.
const mostShown = 3

func (s *suite) state(now time.Time) string {
	tests := slices.SortedFunc(maps.Keys(s.since), func(a, b string) int {
		return cmp.Or(s.since[a].Compare(s.since[b]), cmp.Compare(a, b))
	})
	more := ""
	if len(tests) > mostShown {
		tests, more = tests[:mostShown], fmt.Sprintf(" and %d more", len(tests)-mostShown)
	}
	for i, test := range tests {
		tests[i] = fmt.Sprintf("%s (%.0f s)", test, now.Sub(s.since[test]).Seconds())
	}
	short := s.name[strings.LastIndex(s.name, "/")+1:]
	return fmt.Sprintf("%s: %d tests done, running %s%s", short, s.done, strings.Join(tests, ", "), more)
}
