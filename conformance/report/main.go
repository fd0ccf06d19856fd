// Command report reads the events of a run of the conformance tests (go tool test2json), prints a table of them, and
// compares those that failed with the list of those that may: NAME REASON, a line each. It exits with 1 if they differ.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is a line of test2json.
type event struct {
	Action, Test string
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: report EVENTS KNOWN")
		os.Exit(2)
	}
	results, err := readEvents(os.Args[1])
	if err == nil {
		var known map[string]string
		if known, err = readKnown(os.Args[2]); err == nil {
			os.Exit(report(results, known))
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// readEvents gives what became of each test.
func readEvents(name string) (map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	results := map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if name := nameOf(e); name != "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			results[name] = e.Action
		}
	}
	if slices.ContainsFunc(
		slices.Collect(maps.Keys(results)),
		func(test string) bool { return test != whole && results[test] == "fail" },
	) {
		delete(results, whole)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("%s: no test has run", name)
	}
	return results, lines.Err()
}

// whole names the run itself, which fails with a test or with what all tests need.
const whole = "all of it"

// nameOf returns the conformance test that an event is about; empty for none. Tests that the suite skips, for a
// feature, are none.
func nameOf(e event) string {
	parts := strings.Split(e.Test, "/")
	switch {
	case len(parts) == 1 && e.Action == "fail":
		return whole
	case e.Action != "skip" && (len(parts) == 3 && parts[1] == "official" || len(parts) == 4 && parts[2] == "tests"):
		return parts[len(parts)-1]
	default:
		return ""
	}
}

// readKnown gives the tests that may fail, and why.
func readKnown(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if test, why, found := strings.Cut(strings.TrimSpace(line), " "); found && !strings.HasPrefix(test, "#") {
			known[test] = why
		}
	}
	return known, nil
}

// report prints the counts and the table, and gives the exit code.
func report(results, known map[string]string) (code int) {
	counts := map[string]map[string]int{}
	for test, result := range results {
		group := groupOf(test)
		if counts[group] == nil {
			counts[group] = map[string]int{}
		}
		counts[group][result]++
		counts[group]["all"]++
	}
	fmt.Println("| tests | passed | of |\n|---|---|---|")
	passed := 0
	for _, group := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("| %s | %d | %d |\n", group, counts[group]["pass"], counts[group]["all"])
		passed += counts[group]["pass"]
	}
	fmt.Printf("| all | %d | %d |\n\n| not passed | why |\n|---|---|\n", passed, len(results))
	for _, test := range slices.Sorted(maps.Keys(results)) {
		switch why, listed := known[test]; {
		case results[test] != "pass":
			fmt.Printf("| %s | %s |\n", test, why)
			if !listed {
				fmt.Fprintf(os.Stderr, "%s failed, and is not listed\n", test)
				code = 1
			}
		case listed:
			fmt.Fprintf(os.Stderr, "%s passes, and is listed as one that fails\n", test)
			code = 1
		}
	}
	return code
}

// groupOf returns the kind that a test is about, by the test's name.
func groupOf(test string) string {
	for _, prefix := range []string{
		"HTTPRoute", "GRPC", "TLSRoute", "TCPRoute", "UDPRoute", "BackendTLSPolicy",
		"ListenerSet", "Gateway",
	} {
		if strings.HasPrefix(test, prefix) {
			return prefix
		}
	}
	return "other"
}
