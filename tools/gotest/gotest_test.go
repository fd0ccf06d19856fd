package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// module is a module whose packages pass, fail, do not compile and have no tests.
var module = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.26.0\n",
	"good/good_test.go": `package good
import ("fmt"; "os"; "testing"; "time")
func TestQuick(t *testing.T) { fmt.Println("said by one that passes"); t.Log("logged by one that passes") }
func TestSlow(t *testing.T) {
	for _, err := os.Stat("../seen"); err != nil; _, err = os.Stat("../seen") { time.Sleep(time.Millisecond) }
}
`,
	"bad/bad_test.go": `package bad
import ("fmt"; "testing")
func TestPasses(t *testing.T) { t.Log("logged by a neighbour") }
func TestFails(t *testing.T) {
	t.Run("inner", func(t *testing.T) { fmt.Println("said within"); t.Error("why it fails") })
	t.Run("other", func(t *testing.T) {})
}
`,
	"panics/panics_test.go": `package panics
import "testing"
func TestPanics(t *testing.T) { t.Log("before the end"); panic("the end") }
`,
	"broken/broken_test.go": "package broken\nimport \"testing\"\nfunc TestIt(t *testing.T) { nothing() }\n",
	"none/none.go":          "package none\n",
	"hangs/hangs_test.go":   flakyAnd("func TestHangs(t *testing.T) { t.Parallel(); select {} }"),
	"exits/exits_test.go":   flakyAnd(`func TestExits(t *testing.T) { os.Exit(1) }`),
	"bursts/bursts_test.go": flakyAnd("func TestBursts(t *testing.T) { go panic(`the end`); select {} }"),
	"races/races_test.go":   flakyAnd(`func TestRaces(t *testing.T) { t.Log("WARNING: DATA RACE") }`),
	"flaky/flaky_test.go": `package flaky
import ("os"; "testing")
func TestSteady(t *testing.T) {}
func TestFlaky(t *testing.T) {
	if os.Mkdir("../first", 0o755) == nil { t.Fatal("why it failed at first") }
}
`,
}

// flakyAnd is a package with a test that fails at first alone, and another.
func flakyAnd(other string) string {
	return `package flaky
import ("os"; "testing")
func TestFlaky(t *testing.T) {
	if os.Mkdir("../other", 0o755) == nil { t.Fatal("why it failed at first") }
}
` + other + "\n"
}

// seen is the file for which TestSlow waits, and slowRuns is when it comes.
const seen, slowRuns = "seen", "running TestSlow"

// runModule runs gotest on packages of the module; TestSlow ends when gotest has said that it runs, if it is to say what runs.
func runModule(t *testing.T, every time.Duration, packages ...string) (code int, stdout, stderr string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range module {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	if every == time.Hour {
		markSeen()
	}
	var out bytes.Buffer
	var errs shared
	code, err := run(append([]string{"-count=1"}, packages...), &out, &errs, every)
	if err != nil {
		t.Fatal(err)
	}
	return code, out.String(), errs.text.String()
}

// shared is a buffer into which go test and gotest write at once.
type shared struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Write(p); strings.Contains(s.text.String(), slowRuns) {
		markSeen()
	}
	return len(p), nil
}

func markSeen() { _ = os.WriteFile(seen, nil, 0o600) }

// TestPasses: packages that pass have the line that go test closes them with, and no other.
func TestPasses(t *testing.T) {
	code, stdout, _ := runModule(t, time.Hour, "./good", "./none")
	good := regexp.MustCompile(`(?m)^ok  \texample.com/m/good\t[\d.]+s$`)
	none := regexp.MustCompile(`(?m)^\?   \texample.com/m/none\t\[no test files\]$`)
	if code != 0 || strings.Count(stdout, "\n") != 2 || !good.MatchString(stdout) || !none.MatchString(stdout) {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}

// TestFails: a failure is printed whole, with the output of what it is in; neighbours stay silent.
func TestFails(t *testing.T) {
	code, stdout, _ := runModule(t, time.Hour, "./bad", "./panics", "./broken")
	for _, want := range []string{
		"said within\n", "bad_test.go:5: why it fails\n", "--- FAIL: TestFails/inner ", "--- FAIL: TestFails ", "FAIL\texample.com/m/bad\t",
		"before the end\n", "panic: the end", "FAIL\texample.com/m/panics\t",
		"undefined: nothing\n", "FAIL\texample.com/m/broken [build failed]\n",
	} {
		if strings.Count(stdout, want) != 1 {
			t.Errorf("%q is not there once", want)
		}
	}
	if code != 1 || strings.Contains(stdout, "neighbour") || strings.Contains(stdout, "=== RUN") || t.Failed() {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}

// TestProgress: while a package takes its time, what it is at is said on stderr.
func TestProgress(t *testing.T) {
	code, stdout, stderr := runModule(t, 100*time.Millisecond, "./good")
	if code != 0 || strings.Contains(stdout, "still at it") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
	want := regexp.MustCompile(`test:   still at it \(\d+ s\): 0 packages done; good: 1 tests done, ` + slowRuns + ` \(\d+ s\)\n`)
	if !want.MatchString(stderr) {
		t.Errorf("stderr:\n%s", stderr)
	}
}

// TestState: tests that run longest are named first, and waiting ones are not.
func TestState(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, &out)
	at := time.Unix(1000, 0)
	p.now, p.begin = func() time.Time { return at }, at
	for _, line := range []string{
		"run A", "pause A", "run B", "run C", "run D", "run E", "cont A", "run F", "pause F", "pass C",
	} {
		action, test, _ := strings.Cut(line, " ")
		at = at.Add(time.Second)
		p.line(`{"Action":"` + action + `","Package":"x/e2e","Test":"Test` + test + `"}` + "\n")
	}
	p.line("no JSON\n")
	p.speak()
	want := "no JSON\ntest:   still at it (10 s): 0 packages done; " +
		"e2e: 1 tests done, running TestB (7 s), TestD (5 s), TestE (4 s) and 1 more\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestSlowest: those that took longest are named, the longest first, each with its package.
func TestSlowest(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, &out)
	for _, line := range []string{
		`"Test":"TestA","Elapsed":2`, `"Test":"TestA/inner","Elapsed":1.5`, `"Test":"TestB","Elapsed":0.5`, `"Test":"TestC","Elapsed":62.25`, `"Elapsed":65`,
	} {
		p.line(`{"Action":"pass","Package":"x/e2e",` + line + "}\n")
	}
	out.Reset() // the package's own line
	p.listSlowest(2)
	if want := "test:     62.2 s  x/e2e TestC\ntest:      2.0 s  x/e2e TestA\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestAgain: a test that passes when it is run once more is told as flaky, with what it said; what fails again, or fails as a package, fails, and what did
// not run all of its tests, or had a data race.
func TestAgain(t *testing.T) {
	const flaky = "test:   FLAKY: failed, and passed when run once more: TestFlaky in example.com/m/flaky\n"
	for _, c := range []struct {
		again, packages string
		code            int
	}{
		{"", "./flaky", 1},
		{"3", "./flaky", 0},
		{"3", "./flaky ./bad", 1},
		{"1", "./flaky ./bad", 1},
		{"3", "./flaky ./broken", 1},
		{"3", "./flaky ./panics", 1},
		{"3", "./flaky ./hangs", 1},
		{"3", "./flaky ./exits", 1},
		{"3", "./flaky ./bursts", 1},
		{"3", "./flaky ./races", 1},
	} {
		t.Setenv("AGAIN", c.again)
		code, stdout, stderr := runModule(t, time.Hour, append([]string{"-vet=off", "-parallel", "4", "-timeout", "10s"}, strings.Fields(c.packages)...)...)
		if code != c.code || !strings.Contains(stdout, "why it failed at first") || strings.Contains(stderr, flaky) != (code == 0) {
			t.Errorf("AGAIN=%q %s: exit code %d:\n%s%s", c.again, c.packages, code, stdout, stderr)
		}
	}
}
