package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is a file of .github/workflows, as far as the tests look at it.
type workflow struct {
	Name        string
	On          any
	Permissions map[string]string
	Jobs        map[string]job
}

type job struct {
	RunsOn      string `json:"runs-on"`
	Permissions map[string]string
	Timeout     int `json:"timeout-minutes"`
	Steps       []step
	Strategy    struct {
		Matrix map[string][]string
	}
}

// step is one of a job or of an action.
type step struct{ Uses, Run string }

// action is .github/actions/NAME/action.yml.
type action struct {
	Name, Description string
	Runs              struct {
		Using string
		Steps []step
	}
}

// form is an issue form.
type form struct {
	Name, Description string
	Body              []struct {
		Type, ID   string
		Attributes struct {
			Label, Value string
			Options      []string
		}
	}
}

var (
	makeTarget = regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `)
	makeCall   = regexp.MustCompile(`\bmake ((?:[a-z0-9-]+|\$\{\{[^}]*\}\})(?:[ \t]+[a-z0-9-]+\b)*)`)
	pinned     = regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40}$`)
)

// readText reads a file of the tree.
func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readYAML reads a file of the tree; a key that is there twice is an error.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	// To YAML 1.1 the key "on" is true.
	text := strings.Replace(readText(t, name), "\non:", "\n\"on\":", 1)
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err == nil {
		err = yaml.Unmarshal(asJSON, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// filesOf are the files of the tree that fit a pattern.
func filesOf(t *testing.T, pattern string, least int) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pattern))
	if err != nil || len(files) < least {
		t.Fatalf("%s: %d files, want %d at least (%v)", pattern, len(files), least, err)
	}
	for i, file := range files {
		files[i] = strings.TrimPrefix(filepath.ToSlash(file), "../")
	}
	return files
}

// targets are those of the Makefile that its help lists.
func targets(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(readText(t, "Makefile"), -1) {
		all[m[1]] = true
	}
	if len(all) < 20 {
		t.Fatalf("the Makefile has only %d targets with a line of help", len(all))
	}
	return all
}

// TestWorkflows: workflows parse, ask for no more than they need, end in time, name actions by version, and call
// targets that the Makefile has.
func TestWorkflows(t *testing.T) {
	known, called := targets(t), map[string]bool{}
	for _, file := range filesOf(t, ".github/workflows/*.yml", 2) {
		var w workflow
		readYAML(t, file, &w)
		if w.Name == "" || w.On == nil || len(w.Jobs) == 0 || w.Permissions["contents"] != "read" || len(w.Permissions) != 1 {
			t.Errorf("%s: no name, no trigger, no jobs, or other permissions than to read contents: %+v", file, w)
		}
		for name, j := range w.Jobs {
			if len(j.Permissions) > 0 && file != ".github/workflows/release.yml" {
				t.Errorf("%s: %s: only a release may do more than read: %v", file, name, j.Permissions)
			}
			if j.RunsOn == "" || j.Timeout == 0 || len(j.Steps) == 0 {
				t.Errorf("%s: %s: no runs-on, no timeout-minutes or no steps", file, name)
			}
			checkSteps(t, file+": "+name, j.Steps)
			for _, call := range callsOf(j) {
				called[call] = true
				if !known[call] {
					t.Errorf("%s: %s: make %s is no target of the Makefile", file, name, call)
				}
			}
		}
	}
	for _, want := range []string{
		"check", "unit", "race", "wasm", "fuzz", "fuzz-nightly", "reproduce", "golden-clean", "e2e", "e2e-istio",
		"e2e-envoy-gateway", "e2e-kubernetes", "e2e-install", "release", "publish", "reproduce-release", "test-native", "e2e-native", "conformance", "vulncheck", "newest",
	} {
		if !called[want] {
			t.Errorf("no workflow calls make %s", want)
		}
	}
}

// fuzzTarget is the line on which one begins.
var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// TestNightlyFuzzing: each night fuzzes every target in the tree.
func TestNightlyFuzzing(t *testing.T) {
	var w workflow
	readYAML(t, ".github/workflows/nightly.yml", &w)
	var want []string
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		path = strings.TrimPrefix(filepath.ToSlash(path), "../")
		for _, m := range fuzzTarget.FindAllStringSubmatch(readText(t, path), -1) {
			want = append(want, filepath.ToSlash(filepath.Dir(path))+"/"+m[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if got := w.Jobs["fuzz"].Strategy.Matrix["target"]; !slices.Equal(got, want) || len(want) < 10 {
		t.Errorf("the matrix of nightly.yml has\n%q, and the tree\n%q", got, want)
	}
}

// callsOf are the targets that a job calls, with those of its matrix.
func callsOf(j job) []string {
	var calls []string
	for _, s := range j.Steps {
		for _, m := range makeCall.FindAllStringSubmatch(s.Run, -1) {
			if key, is := strings.CutPrefix(m[1], "${{ matrix."); is {
				calls = append(calls, j.Strategy.Matrix[strings.TrimSuffix(key, " }}")]...)
				continue
			}
			calls = append(calls, strings.Fields(m[1])...)
		}
	}
	return calls
}

// checkSteps wants every step to do something, and every action to be one of ours or named by its digest: tags move, and jobs have rights.
func checkSteps(t *testing.T, where string, steps []step) {
	t.Helper()
	for _, s := range steps {
		own, isOwn := strings.CutPrefix(s.Uses, "./")
		switch {
		case (s.Uses == "") == (s.Run == ""):
			t.Errorf("%s: a step has either uses or run: %+v", where, s)
		case isOwn:
			readText(t, own+"/action.yml")
		case s.Uses != "" && !pinned.MatchString(s.Uses):
			t.Errorf("%s: %s is not named by its digest", where, s.Uses)
		}
	}
}

func TestActions(t *testing.T) {
	for _, file := range filesOf(t, ".github/actions/*/action.yml", 1) {
		var a action
		readYAML(t, file, &a)
		if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
			t.Errorf("%s: %+v", file, a)
		}
		checkSteps(t, file, a.Runs.Steps)
	}
}

// TestCIRun: what a clean checkout is tested with are targets of the Makefile, too.
func TestCIRun(t *testing.T) {
	known, calls := targets(t), makeCall.FindAllStringSubmatch(readText(t, ".ci/run"), -1)
	if len(calls) < 3 {
		t.Fatalf("only %d calls of make", len(calls))
	}
	for _, m := range calls {
		if !known[m[1]] {
			t.Errorf(".ci/run: make %s is no target of the Makefile", m[1])
		}
	}
}

// TestIssueForms: forms have what GitHub refuses them without.
func TestIssueForms(t *testing.T) {
	for _, file := range filesOf(t, ".github/ISSUE_TEMPLATE/*.yml", 3) {
		if strings.HasSuffix(file, "/config.yml") {
			continue
		}
		var f form
		readYAML(t, file, &f)
		ids := map[string]bool{}
		for _, field := range f.Body {
			isText := field.Type == "markdown"
			if isText && field.Attributes.Value == "" || !isText && (field.Attributes.Label == "" || field.ID == "" || ids[field.ID]) {
				t.Errorf("%s: %+v", file, field)
			}
			if field.Type == "dropdown" && len(field.Attributes.Options) < 2 {
				t.Errorf("%s: %s has nothing to choose from", file, field.ID)
			}
			ids[field.ID] = true
		}
		if f.Name == "" || f.Description == "" || len(ids) < 4 {
			t.Errorf("%s: %+v", file, f)
		}
	}
}

// TestOwnersAndUpdates: folders that CODEOWNERS and dependabot.yml name are there.
func TestOwnersAndUpdates(t *testing.T) {
	var paths []string
	for line := range strings.Lines(readText(t, ".github/CODEOWNERS")) {
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[0], "/") {
			paths = append(paths, words[0])
		}
	}
	var bot struct {
		Updates []struct {
			Directory   string
			Directories []string
		}
	}
	readYAML(t, ".github/dependabot.yml", &bot)
	for _, u := range bot.Updates {
		paths = append(paths, u.Directories...)
		paths = append(paths, u.Directory)
	}
	if len(paths) < 10 {
		t.Errorf("only %d paths: %q", len(paths), paths)
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join("..", path)); err != nil {
			t.Error(err)
		}
	}
	modules, err := filepath.Glob("../e2e/*/go.mod")
	if err != nil || len(modules) < 2 {
		t.Fatal(modules, err)
	}
	for _, module := range append(modules, "../tools/tinygo/go.mod") {
		if folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(module)), ".."); !slices.Contains(paths, folder) {
			t.Errorf("dependabot.yml does not name %s", folder)
		}
	}
}
