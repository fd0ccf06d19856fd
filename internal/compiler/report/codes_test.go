package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryCodeIsExplained: each code is reported somewhere and has its explanation, all of it.
func TestEveryCodeIsExplained(t *testing.T) {
	text, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\t(\w+)\s+Code = "(LIM\d{4})"$`).FindAllStringSubmatch(string(text), -1)
	if len(names) < 50 || len(names) != len(Explanations) {
		t.Fatalf("%d codes and %d explanations", len(names), len(Explanations))
	}
	last, idle := Code(""), regexp.MustCompile(`^(Nothing[^;]*|Do what [a-z ]*|Correct the \w+)\.$`)
	for i, n := range names {
		code := Code(n[2])
		e, known := Explain(code)
		if !known || e.Title == "" || e.Meaning == "" || e.Example == "" || e.Do == "" {
			t.Errorf("%s (%s) is not explained: %+v", code, n[1], e)
		}
		if idle.MatchString(e.Do) {
			t.Errorf("%s (%s) says nothing to do: %s", code, n[1], e.Do)
		}
		if code <= last || Explanations[i].Code != code {
			t.Errorf("%s is not in order", code)
		}
		last = code
		if out, err := exec.Command("grep", "-rlE", `report\.`+n[1]+`\b`, "--include=*.go", "..", "../../../compiler").Output(); err != nil ||
			!strings.Contains(strings.ReplaceAll(string(out), "_test.go", ""), ".go") {
			t.Errorf("nothing makes a finding of %s (%s)", code, n[1])
		}
	}
}

// unprinted are the codes of which these golden files have no message: it is about served Envoys or statuses, or takes thousands of objects.
var unprinted = []Code{EnvoyRejects, OverBudget, HostsWithheld, NearBudget, PodsUnseen, PolicyIdle, TooManyAncestors, TooManyOwners}

// TestExamplesArePrinted: what a code's example says is what limpet prints, but for names and numbers: a golden file has it.
func TestExamplesArePrinted(t *testing.T) {
	names := regexp.MustCompile(`"[^"]*"|\b[a-z0-9.-]+/[a-z0-9.-]+|[0-9]+[a-z]*`)
	kinds := regexp.MustCompile(`\b([A-Z][A-Za-z]+) [a-z*-]+`)
	plain := func(text string) string {
		return kinds.ReplaceAllString(names.ReplaceAllString(strings.ReplaceAll(text, `\`, ""), "*"), "$1 *")
	}
	printed := ""
	for _, pattern := range []string{
		"compiler/testdata/*.txt", "compiler/testdata/common.yaml", "cmd/limpet/testdata/*.txtar", "docs/troubleshooting.md",
	} {
		paths, err := filepath.Glob("../../../" + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			printed += plain(string(text))
		}
	}
	for _, e := range Explanations {
		words := e.Example[strings.Index(e.Example, ": ")+1:] // behind the object
		if found := strings.Contains(printed, plain(words)); found == slices.Contains(unprinted, e.Code) {
			t.Errorf("%s: %s: a golden file has it: %t", e.Code, e.Example, found)
		}
	}
}
