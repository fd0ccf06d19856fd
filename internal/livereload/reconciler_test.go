package livereload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
)

// fakeOutput is an output that compiles texts: "refuse" is refused, and a line that begins with "warn" is a warning. The
// second result that it shall apply is rejected.
type fakeOutput struct{ applied []string }

func (f *fakeOutput) Compile(in Inputs) (*compiler.Result, error) {
	text := string(in.Sources[0].Data)
	if text == "refuse" {
		return nil, compiler.Errors{{File: "a.yaml", Message: "is refused"}}
	}
	var warnings []compiler.Problem
	for number, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "warn") {
			warnings = append(warnings, compiler.Problem{Message: line, Line: number + 1, File: "a.yaml"})
		}
	}
	return &compiler.Result{Warnings: warnings}, nil
}

func (f *fakeOutput) Apply(context.Context, time.Time, *compiler.Result) (string, error) {
	f.applied = append(f.applied, "change")
	if len(f.applied) == 2 {
		return "", errors.New("Envoy rejects it")
	}
	return "live", nil
}

func (f *fakeOutput) Serving() string { return LastGood }

// scriptedReads gives these texts one after the other; an error for one that begins with "error: ".
func scriptedReads(texts []string) func(io.Writer) (Inputs, error) {
	return func(io.Writer) (Inputs, error) {
		text := texts[0]
		texts = texts[1:]
		if why, fails := strings.CutPrefix(text, "error: "); fails {
			return Inputs{}, errors.New(why)
		}
		return Inputs{Sources: []compiler.Source{{Name: "a.yaml", Data: []byte(text)}}}, nil
	}
}

// TestHeldFiles: a file that is no good holds back no other file's changes, and its own come as soon as it is good again.
func TestHeldFiles(t *testing.T) {
	const not = " is not taken over: what it said before keeps serving; other files' changes go on\n"
	const never = " is not taken over: it is left out, for it has not been good yet; other files' changes go on\n"
	for _, c := range []struct{ name, steps, want string }{
		{"one of two", "a1 b1, a1 refuse, a2 refuse, a2 b2", "error: b: is refused\n" +
			"limpet: change 1 refused: 1 error; the last good configuration keeps serving\nlimpet: change 2 live a2 b1\nlimpet: change 3 live a2 b2\n"},
		{"both at once", "a1 b1, a2 refuse", "error: b: is refused\nlimpet: b" + not + "limpet: change 1 live a2 b1\n"},
		{"a new one", "a1, a2 refuse, a2 b2", "error: b: is refused\nlimpet: b" + never + "limpet: change 1 live a2\nlimpet: change 2 live a2 b2\n"},
		{"otherwise bad", "a1 b1, a2 refuse, a3 refuse2, a4", "error: b: is refused\nlimpet: b" + not + "limpet: change 1 live a2 b1\n" +
			"error: b: is refused\nlimpet: b" + not + "limpet: change 2 live a3 b1\nlimpet: change 3 live a4\n"},
		{"from the start", "refuse b1, refuse b2, a1 b2", "error: a: is refused\nlimpet: a" + never +
			"limpet: change 1 live b2\nlimpet: change 2 live a1 b2\n"},
		{"from the start, strictly", "refuse b1", ""},
		{"all from the start", "refuse", ""},
		{"another's fault", "a1 b1, a1 blame-a", "error: a: is refused\nlimpet: change 1 refused: 1 error; the last good configuration keeps serving\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			var inputs []Inputs
			for step := range strings.SplitSeq(c.steps, ", ") {
				var in Inputs
				for i, text := range strings.Fields(step) {
					in.Sources = append(in.Sources, compiler.Source{Name: string(rune('a' + i)), Data: []byte(text)})
				}
				inputs = append(inputs, in)
			}
			r := &Reconciler{Output: &strictOutput{}, Stderr: &stderr, Strict: strings.HasSuffix(c.name, "strictly"), Read: func(io.Writer) (Inputs, error) {
				next := inputs[0]
				inputs = inputs[1:]
				return next, nil
			}}
			if _, err := r.Start(); (err != nil) != (c.want == "") {
				t.Fatal(err)
			} else if err != nil {
				return
			}
			for len(inputs) > 0 {
				r.reread(context.Background(), time.Now())
			}
			if stderr.String() != c.want {
				t.Errorf("said\n%swant\n%s", stderr.String(), c.want)
			}
		})
	}
}

// strictOutput refuses files that begin with "refuse", and for one that begins with "blame-" another; and an input without files.
type strictOutput struct{ texts string }

func (o *strictOutput) Compile(in Inputs) (*compiler.Result, error) {
	o.texts = ""
	for _, s := range in.Sources {
		if other, blames := strings.CutPrefix(string(s.Data), "blame-"); blames {
			return nil, compiler.Errors{{File: other, Message: "is refused"}}
		}
		if strings.HasPrefix(string(s.Data), "refuse") {
			return nil, compiler.Errors{{File: s.Name, Message: "is refused"}}
		}
		o.texts += " " + string(s.Data)
	}
	if o.texts == "" {
		return nil, compiler.Errors{{Message: "nothing is left"}}
	}
	return &compiler.Result{}, nil
}

func (o *strictOutput) Apply(context.Context, time.Time, *compiler.Result) (string, error) {
	return "live" + o.texts, nil
}

func (o *strictOutput) Serving() string { return LastGood }

// TestReconciler reads texts one after the other, of which the first is what it starts with, and wants this said.
func TestReconciler(t *testing.T) {
	const unreadable = "limpet: the input can't be read; the last good configuration keeps serving\n"
	for _, c := range []struct {
		name    string
		texts   []string
		want    string
		applied int
	}{
		{"a change", []string{"a", "b"}, "limpet: change 1 live\n", 1},
		{"the same again", []string{"a", "a"}, "", 0},
		{"refused, then good", []string{"a", "refuse", "b"}, "error: a.yaml: is refused\n" +
			"limpet: change 1 refused: 1 error; the last good configuration keeps serving\nlimpet: change 2 live\n", 1},
		{"not applied", []string{"a", "b", "c"}, "limpet: change 1 live\nlimpet: Envoy rejects it\n" +
			"limpet: change 2 failed; the last good configuration keeps serving\n", 2},
		{"unreadable", []string{"a", "error: gone", "a"}, "limpet: gone\n" + unreadable, 0},
		{"unreadable, twice alike", []string{"a", "error: gone", "error: gone"}, "limpet: gone\n" + unreadable, 0},
		{
			"unreadable, again",
			[]string{"a", "error: gone", "a", "error: gone"},
			"limpet: gone\n" + unreadable + "limpet: gone\n" + unreadable, 0,
		},
		{"the warning of the start", []string{"warn 1", "first\nwarn 1"}, "limpet: change 1 live\n", 1},
		{
			"another warning",
			[]string{"warn 1", "warn 1\nwarn 2", "warn 1"},
			"warning: a.yaml:2: warn 2\nlimpet: change 1 live\nlimpet: Envoy rejects it\n" +
				"limpet: change 2 failed; the last good configuration keeps serving\n", 2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			out := &fakeOutput{}
			r := &Reconciler{Read: scriptedReads(c.texts), Output: out, Stderr: &stderr}
			if _, err := r.Start(); err != nil {
				t.Fatal(err)
			}
			for range c.texts[1:] {
				r.reread(context.Background(), time.Now())
			}
			if stderr.String() != c.want || len(out.applied) != c.applied {
				t.Errorf("%d times applied, want %d; said\n%swant\n%s", len(out.applied), c.applied, stderr.String(), c.want)
			}
		})
	}
}

// TestRun applies a change of a file, and one that is due without any, and ends with its context.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out := &countingOutput{due: time.Now().Add(100 * time.Millisecond), done: cancel}
	r := &Reconciler{
		Changes: inputfiles.NewWatcher(file), Output: out, Stderr: io.Discard,
		Read: scriptedReads([]string{"a", "b", "c"}),
	}
	if _, err := r.Start(); err != nil {
		t.Fatal(err)
	}
	out.write = func() { must(t, os.WriteFile(file, []byte("text"), 0o600)) }
	r.Run(ctx)
	if out.applied != 2 || ctx.Err() == context.DeadlineExceeded {
		t.Errorf("%d changes, %v", out.applied, ctx.Err())
	}
}

// countingOutput is due once; when that has been applied it writes the file, and with the change that follows it is
// done.
type countingOutput struct {
	due     time.Time
	applied int
	write   func()
	done    func()
}

func (o *countingOutput) Compile(Inputs) (*compiler.Result, error) {
	due := o.due
	o.due = time.Time{}
	return &compiler.Result{Until: due}, nil
}

func (o *countingOutput) Apply(context.Context, time.Time, *compiler.Result) (string, error) {
	if o.applied++; o.applied == 1 {
		o.write()
	} else {
		o.done()
	}
	return "live", nil
}

func (o *countingOutput) Serving() string { return LastGood }
