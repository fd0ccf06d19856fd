package report

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestEveryCodeIsExplained: each code is told of somewhere and has its explanation, all of it.
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
