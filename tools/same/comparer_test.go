package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain is the tests, or where a test starts it as a limpet, one that crashes on some commands.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("SAME_TEST_LIMPET") == "":
		os.Exit(m.Run())
	case os.Getenv(batchVariable) != "":
		requests, replies := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
		for n := 1; ; n++ {
			var args []string
			if requests.Decode(&args) != nil {
				os.Exit(0)
			}
			_ = replies.Encode(reply{Code: obey(args), Stdout: fmt.Appendf(nil, "%d %s", n, args[0])})
		}
	default:
		fmt.Print(os.Args[1])
		os.Exit(obey(os.Args[1:]))
	}
}

// obey does what the first word says.
func obey(args []string) int {
	switch args[0] {
	case "crash":
		panic("no good")
	case "refuse":
		return 1
	case "hang":
		time.Sleep(time.Minute)
	case "misuse":
		return wrongUsage
	}
	return 0
}

func TestBatch(t *testing.T) {
	t.Setenv("SAME_TEST_LIMPET", "1")
	b := &batch{binary: os.Args[0]}
	defer b.close()
	for _, c := range []struct {
		command, stdout string
		code            int
	}{
		{"compile", "1 compile", 0},
		{"refuse", "2 refuse", 1},
		{"crash", "", crashed},
		{"compile", "1 compile", 0}, // in a new process
	} {
		r, err := b.run([]string{c.command})
		if err != nil || string(r.Stdout) != c.stdout || r.Code != c.code {
			t.Errorf("%s: %d %q, %v; want %d %q", c.command, r.Code, r.Stdout, err, c.code, c.stdout)
		}
		if crashes := c.code == crashed; crashes != bytes.Contains(r.Stderr, []byte("panic: no good")) {
			t.Errorf("%s: stderr is %q", c.command, r.Stderr)
		}
	}
	if _, err := (&batch{binary: "./no-such-limpet"}).run([]string{"compile"}); err == nil {
		t.Error("a limpet that is not there ran")
	}
}

// TestPatience shows that a command that does not end is neither a reply nor a crash.
func TestPatience(t *testing.T) {
	t.Setenv("SAME_TEST_LIMPET", "1")
	defer func(d time.Duration) { patience = d }(patience)
	patience = time.Second / 10
	b := &batch{binary: os.Args[0]}
	defer b.close()
	for name, run := range map[string]runner{"batch": b.run, "process": runProcess(os.Args[0])} {
		if _, err := run([]string{"hang"}); err == nil || !strings.Contains(err.Error(), "limpet hang takes longer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProcess(t *testing.T) {
	t.Setenv("SAME_TEST_LIMPET", "1")
	run := runProcess(os.Args[0])
	for command, code := range map[string]int{"compile": 0, "refuse": 1, "crash": crashed, "misuse": wrongUsage} {
		r, err := run([]string{command})
		if err != nil || r.Code != code || string(r.Stdout) != command {
			t.Errorf("%s: %d %q, %v; want %d", command, r.Code, r.Stdout, err, code)
		}
	}
	if _, err := runProcess("./no-such-limpet")([]string{"compile"}); err == nil {
		t.Error("a limpet that is not there ran")
	}
	if _, err := runChecked(run, []string{"misuse"}); err == nil {
		t.Error("a wrong command line is compared")
	}
}

// fakeLimpet writes a configuration, a report, statuses and descriptions. Change may change what it is told to write.
func fakeLimpet(change func(args []string, text string) string) starter {
	run := func(args []string) (reply, error) {
		text := func(s string) []byte { return []byte(change(args, s)) }
		switch args[0] {
		case "check":
			return reply{Stdout: text("kind: Gateway\nmetadata: {name: web}\n")}, nil
		case "describe":
			return reply{Stdout: text(`{"beats": [{"rung": 1}]}`)}, nil
		}
		at := slices.Index(args, "-o")
		err := os.Mkdir(args[at+1], 0o755)
		for path, s := range map[string]string{
			filepath.Join(args[at+1], "envoy.yaml"):  "a: 1\n",
			filepath.Join(args[at+1], "limpet.wasm"): "filter",
			args[at+3]:                               fakeReport,
		} {
			err = errors.Join(err, os.WriteFile(path, text(s), 0o644))
		}
		if slices.Contains(args, "--strict") {
			return reply{Code: 1}, err
		}
		return reply{}, err
	}
	return func() (runner, func()) { return run, func() {} }
}

const fakeReport = `{"findings": [
	{"object": "Gateway default/web", "verdict": "Warning", "path": "spec", "message": "m"}
]}`

func keepAll(_ []string, text string) string { return text }

func fakeInputs() []input {
	inputs := []input{
		{name: "random/1", text: "kind: Gateway\n", flags: defaultFlags("envoy"), objects: []string{"Gateway/default/web"}},
		{name: "golden/a", path: "a.in.yaml", flags: defaultFlags("envoy")},
	}
	inputs[1].strict = true
	return inputs
}

func compareFakes(t *testing.T, now starter, inputs []input) (*summary, *comparer, error) {
	t.Helper()
	c := &comparer{
		starters: [2]starter{fakeLimpet(keepAll), now}, words: readWords(t, ""),
		dir: t.TempDir(), kept: filepath.Join(t.TempDir(), "kept"),
	}
	s, err := c.compareAll(inputs, 2, true)
	return s, c, err
}

func TestCompareAll(t *testing.T) {
	s, _, err := compareFakes(t, fakeLimpet(keepAll), fakeInputs())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s.print(&out)
	for _, want := range []string{
		"compared 2 inputs (1 compiled, 1 refused, 0 crashed)",
		"with 2 configurations, 2 problems, 2 statuses and 1 descriptions",
		"0 differences in 0 inputs",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestCompareAllDiffers changes one thing that the new limpet writes for one input.
func TestCompareAllDiffers(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"a: 1\n", "a: 2\n", "random/1: configuration envoy.yaml\n  line 1\n  - a: 1\n"},
		{`"spec"`, `"spec.x"`, "random/1: problem\n  - Warning .:0: Gateway default/web: spec (): m\n"},
		{"name: web", "name: wed", "random/1: status of Gateway <nil>/web\n  .metadata.name\n  - \"web\"\n  + \"wed\"\n"},
		{`"rung": 1`, `"rung": 2`, "random/1: description of Gateway/default/web\n  .overrides[0].precedence\n"},
		{`"m"`, `"other"`, "1 messages differ by more than words.txt says:\n  - m\n  + other\n"},
	} {
		now := fakeLimpet(func(args []string, text string) string {
			if slices.Contains(args, "--strict") {
				return text
			}
			return strings.Replace(text, c.old, c.now, 1)
		})
		s, limpets, err := compareFakes(t, now, fakeInputs())
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if s.print(&out); !strings.Contains(out.String(), c.want) {
			t.Errorf("no %q in\n%s", c.want, out.String())
		}
		kept, err := os.ReadFile(filepath.Join(limpets.kept, "random-1.yaml"))
		if s.differing > 0 && (err != nil || string(kept) != "kind: Gateway\n") {
			t.Errorf("the input is not kept: %q, %v", kept, err)
		}
	}
}

// TestPrint shows that one difference in many inputs is printed once, and many of them not endlessly.
func TestPrint(t *testing.T) {
	s := &summary{}
	for n := range 2 * mostPrinted {
		differences := []difference{{"problem", "- old"}, {"problem", fmt.Sprint("- ", n)}}
		in := input{name: fmt.Sprint("random/", n)}
		s.add(compared{number: -n, in: in, old: &observation{}, comparison: &comparison{differences: differences}})
	}
	var out strings.Builder
	s.print(&out)
	first := fmt.Sprintf("random/%d: problem\n  - old\n", 2*mostPrinted-1)
	last := fmt.Sprintf("%d differences in %d inputs\n", 4*mostPrinted, 2*mostPrinted)
	if text := out.String(); !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		t.Errorf("%s\nwant %s...\n%s", text, first, last)
	}
	all, same := strings.Count(out.String(), "  - "), strings.Count(out.String(), "- old")
	if all != mostPrinted || same != 1 {
		t.Errorf("%d differences are printed, %d of them the same; want %d and 1", all, same, mostPrinted)
	}
}

// TestCompareAllFails shows what makes a comparison worthless.
func TestCompareAllFails(t *testing.T) {
	silent := func([]string, string) string { return "" }
	withGolden := fakeInputs()
	withGolden[1].golden = filepath.Join(t.TempDir(), "a") // has no a.err.txt, and is refused
	for name, c := range map[string]struct {
		now    starter
		inputs []input
		want   string
	}{
		"nothing is refused":           {fakeLimpet(keepAll), fakeInputs()[:1], "no input that is refused"},
		"the report can't be read":     {fakeLimpet(silent), fakeInputs(), "JSON"},
		"goldens say something else":   {fakeLimpet(keepAll), withGolden, "golden files say otherwise"},
		"limpet knows no such flag":    {failing(reply{Code: wrongUsage}, nil), fakeInputs(), "limpet compile"},
		"limpet can not be started":    {failing(reply{}, errors.New("no such file")), fakeInputs(), "no such file"},
		"the statuses can not be read": {fakeLimpet(breakStatus), fakeInputs(), "statuses"},
	} {
		_, _, err := compareFakes(t, c.now, c.inputs)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

func breakStatus(args []string, text string) string {
	if args[0] == "check" {
		return "a: ["
	}
	return text
}

func failing(r reply, err error) starter {
	return func() (runner, func()) { return func([]string) (reply, error) { return r, err }, func() {} }
}
