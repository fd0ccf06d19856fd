package harness

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Result is what a scenario did and what it cost its clients. Counts that say nothing about a scenario stay 0.
type Result struct {
	// Requests are those that clients sent; Sessions are the sessions that they held.
	Requests, Sessions int
	// Changes are new configurations, endpoints, weights or keys taken over under load.
	Changes int
	// Faults are what was done to hosts, proxies and requests: kills, hangs, forged tokens.
	Faults int
	// Lost are sessions that left a host which could still have served them, or that ended too early.
	Lost int
	// Errors are requests that got no answer, or another one than the scenario allows.
	Errors int
	// Note is anything else that was measured, in a few words.
	Note string
}

// reliability is the document whose table has a row for each scenario.
const reliability = "docs/reliability.md"

// The table in it stands between these lines.
const (
	tableBegin = "<!-- figures: written by make figures -->"
	tableEnd   = "<!-- end of figures -->"
)

// tableHead is the first two lines of the table.
const tableHead = `| scenario | test | requests | sessions | changes | faults | sessions lost | errors | measured |
|---|---|---|---|---|---|---|---|---|
`

var results struct {
	mu   sync.Mutex
	rows []resultLine
}

// resultLine is a line of the table.
type resultLine struct {
	scenario, test, line string
	failed               bool
}

// RecordResult records the figures of a scenario for the table at the end of the run. Each scenario is recorded once,
// and docs/reliability.md must have a row for it, under the name of the test function.
func RecordResult(t testing.TB, scenario string, row Result) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	line := fmt.Sprintf("| %s | `%s` | %d | %d | %d | %d | %d | %d | %s |",
		scenario, test, row.Requests, row.Sessions, row.Changes, row.Faults, row.Lost, row.Errors, row.Note)
	results.mu.Lock()
	defer results.mu.Unlock()
	if slices.ContainsFunc(results.rows, func(f resultLine) bool { return f.scenario == scenario }) {
		t.Errorf("the scenario %q was recorded before", scenario)
	}
	results.rows = append(results.rows, resultLine{scenario, test, line, t.Failed()})
	if !documented(t, scenario, test) {
		t.Logf("%s has no row for the scenario %q of %s: run 'make figures RUN=%s'", reliability, scenario, test, test)
		if !updating() {
			t.Fail()
		}
	}
}

// UpdateResults is the environment variable that has WriteResults rewrite docs/reliability.md.
const UpdateResults = "LIMPET_UPDATE_FIGURES"

func updating() bool { return os.Getenv(UpdateResults) != "" }

func documented(t testing.TB, scenario, test string) bool {
	t.Helper()
	return slices.ContainsFunc(DocumentedResults(t), func(f [2]string) bool { return f == [2]string{scenario, test} })
}

// DocumentedResults are the scenarios and tests that docs/reliability.md has rows for, in their order.
func DocumentedResults(t testing.TB) [][2]string {
	t.Helper()
	_, lines, _, err := splitTable(ReadDocument(t, reliability))
	if err != nil {
		t.Fatal(err)
	}
	var all [][2]string
	for _, line := range lines {
		all = append(all, rowName(line))
	}
	return all
}

// rowName is the scenario and the test of a line of the table.
func rowName(line string) [2]string {
	cells := strings.Split(line, "|")
	if len(cells) < 3 {
		return [2]string{}
	}
	return [2]string{strings.TrimSpace(cells[1]), strings.Trim(cells[2], " `")}
}

// splitTable cuts the document into what stands before the rows, the rows, and what stands behind them.
func splitTable(text string) (before string, rows []string, after string, err error) {
	before, rest, found := strings.Cut(text, tableBegin+"\n"+tableHead)
	table, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		return "", nil, "", fmt.Errorf("%s has no table between %q and %q", reliability, tableBegin, tableEnd)
	}
	rows = slices.DeleteFunc(strings.Split(table, "\n"), func(line string) bool { return line == "" })
	return before + tableBegin + "\n" + tableHead, rows, tableEnd + after, nil
}

// WriteResults prints the table of the scenarios that this process has run. With LIMPET_UPDATE_FIGURES it also puts
// their rows into docs/reliability.md, those of failed scenarios left out.
func WriteResults(w io.Writer) error {
	results.mu.Lock()
	defer results.mu.Unlock()
	if len(results.rows) == 0 {
		return nil
	}
	slices.SortFunc(
		results.rows,
		func(a, b resultLine) int { return strings.Compare(a.test+"\t"+a.scenario, b.test+"\t"+b.scenario) },
	)
	fmt.Fprint(w, "\n", tableHead)
	for _, f := range results.rows {
		fmt.Fprint(w, f.line)
		if f.failed {
			fmt.Fprint(w, " FAILED")
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	if !updating() {
		return nil
	}
	path := filepath.Join("..", reliability) // tests of a package run in its folder
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join("..", path)
	}
	return updateTable(path)
}

// updateTable replaces the rows of the scenarios that have run, and adds those that are new.
func updateTable(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rows, after, err := splitTable(string(text))
	if err != nil {
		return err
	}
	for _, f := range results.rows {
		if f.failed {
			continue
		}
		at := slices.IndexFunc(rows, func(line string) bool { return rowName(line)[0] == f.scenario })
		if at < 0 {
			rows = append(rows, f.line)
		} else {
			rows[at] = f.line
		}
	}
	slices.SortFunc(rows, func(a, b string) int {
		x, y := rowName(a), rowName(b)
		return strings.Compare(x[1]+"\t"+x[0], y[1]+"\t"+y[0])
	})
	return os.WriteFile(path, []byte(before+strings.Join(rows, "\n")+"\n"+after), 0o600)
}
