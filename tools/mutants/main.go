// Command mutants takes the dependencies of the compiler that follows its documents (package follow) out of the code, one at a
// time, and tells whether a test fails for each: those of mutations.go. It is for people who change that package; at a minute a
// mutation it is no part of "make test", which only wants every mutation to fit the code.
//
// The exit code is 1 if a mutation is not noticed.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	filter := flag.String("run", "", "only mutations whose names the `REGEXP` matches")
	flag.Parse()
	missed, err := run(*filter)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if missed > 0 {
		fmt.Printf("%d not noticed\n", missed)
		os.Exit(1)
	}
}

func run(filter string) (missed int, err error) {
	only, err := regexp.Compile(filter)
	if err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp("", "limpet-mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	for _, m := range mutations {
		if !only.MatchString(m.name) {
			continue
		}
		failure, err := m.try(folder)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", m.name, err)
		}
		if failure == "" {
			failure = "NOT NOTICED"
			missed++
		}
		fmt.Printf("%s: %s\n", m.name, failure)
	}
	return missed, nil
}

// apply gives the file with the mutation.
func (m *mutation) apply() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.from); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, not once", m.file, m.from, n)
	}
	return strings.Replace(string(text), m.from, m.to, 1), nil
}

// try runs the tests of a tree with the mutation, without a change of the tree, and gives the first that fails.
func (m *mutation) try(folder string) (failure string, err error) {
	text, err := m.apply()
	if err != nil {
		return "", err
	}
	mutant, overlay := filepath.Join(folder, "mutant.go"), filepath.Join(folder, "overlay.json")
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutant}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(mutant, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replaced, 0o600); err != nil {
		return "", err
	}
	tests := exec.Command("go", "test", "-failfast", "-overlay", overlay, "-run", "Follow|Component|Store", "./compiler",
		"./internal/compiler/coupling", "./internal/compiler/resource", "./internal/compiler/follow")
	output, err := tests.CombinedOutput()
	if err == nil {
		return "", nil
	}
	if found := failures.FindString(string(output)); found != "" {
		return found, nil
	}
	return "", fmt.Errorf("no test fails, but: %s", output)
}

// failures are the lines of tests that fail.
var failures = regexp.MustCompile(`(?m)^ *--- FAIL: .*$|^panic: .*$`)
