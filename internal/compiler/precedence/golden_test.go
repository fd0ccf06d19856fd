package precedence

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files that the tests compare with")

var trafficPathLine = regexp.MustCompile(`(?m)^# way:(.*)$`)

// TestRules merges the documents of each file of testdata/rules for the ways that its comments name. The files are
// called after rules of docs/semantics.md and items of the GEPs.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.in.yaml")
	if err != nil || len(files) < 90 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.yaml"), func(t *testing.T) {
			text := readFile(t, file)
			paths := trafficPathLine.FindAllSubmatch(text, -1)
			if len(paths) == 0 {
				t.Fatal("no way")
			}
			w := readDocumentSet(t, text)
			var out strings.Builder
			for _, m := range paths {
				e := w.mergeOn(parseTrafficPath(t, string(m[1])))
				fmt.Fprintf(&out, "way:%s\n%s", m[1], dumpEffective(&e))
			}
			compareGolden(t, strings.TrimSuffix(file, ".in.yaml")+".out.txt", out.String())
		})
	}
}

// TestRulesCovered holds that there is a case for each rule that is about merging, and for each item of the GEPs
// that those rules name.
func TestRulesCovered(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Join(files, " ")
	for _, want := range []string{
		"S02-", "S05-", "S06-", "S07-", "S08-", "S09-", "S10-", "S11-", "S12-", "S13-", "S14-", "S15-", "S16-", "S18-",
		"2A.9-", "2A.10-", "2A.19-", "2A.23-", "2B.O1-", "2B.O2-", "2B.O4-", "2C.1-", "2C.2-", "2C.4-", "2C.7-", "2C.8-", "2C.9-", "2C.10-", "2C.11-", "2C.12-", "2C.13-",
	} {
		if !strings.Contains(names, want) {
			t.Errorf("no case %s", want)
		}
	}
	outs, err := filepath.Glob("testdata/rules/*.out.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range outs {
		if !slices.Contains(files, strings.TrimSuffix(out, ".out.txt")+".in.yaml") {
			t.Errorf("%s belongs to no case", out)
		}
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := string(readFile(t, file)); got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
