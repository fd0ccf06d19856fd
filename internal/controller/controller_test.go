package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// TestHeldFiles: a file that is no good holds back no other file's changes, and its own come as soon as it is good again.
func TestHeldFiles(t *testing.T) {
	const not = " is not taken over: what it said before keeps serving; other files' changes go on\n"
	const never = " is not taken over: it is left out, for it has not been good yet; other files' changes go on\n"
	for _, c := range []struct{ name, steps, compiled, want string }{
		{"one of two", "a1 b1, a1 refuse, a2 refuse, a2 b2", "a1 b1, refused, a2 b1, a2 b2", ""},
		{"both at once", "a1 b1, a2 refuse", "a1 b1, a2 b1", "error: b: is refused\nlimpet: b" + not},
		{"a new one", "a1, a2 refuse, a2 b2", "a1, a2, a2 b2", "error: b: is refused\nlimpet: b" + never},
		{
			"otherwise bad", "a1 b1, a2 refuse, a3 refuse2, a4", "a1 b1, a2 b1, a3 b1, a4",
			"error: b: is refused\nlimpet: b" + not + "error: b: is refused\nlimpet: b" + not,
		},
		{"from the start", "refuse b1, refuse b2, a1 b2", "b1, b2, a1 b2", "error: a: is refused\nlimpet: a" + never},
		{"from the start, strictly", "refuse b1", "refused", ""},
		{"all from the start", "refuse", "refused", ""},
		{"another's fault", "a1 b1, a1 blame-a", "a1 b1, refused", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			h := held{strict: strings.HasSuffix(c.name, "strictly")}
			var compiled []string
			for step := range strings.SplitSeq(c.steps, ", ") {
				var sources []compiler.Source
				for i, text := range strings.Fields(step) {
					sources = append(sources, compiler.Source{Name: string(rune('a' + i)), Data: []byte(text)})
				}
				p, err := h.compile(Input{Sources: read.NewList(sources...)}, compileStrictly, &stderr)
				if err != nil {
					compiled = append(compiled, "refused")
					continue
				}
				texts := ""
				for s := range p.input.Sources.All() {
					texts += " " + string(s.Data)
				}
				compiled = append(compiled, strings.TrimSpace(texts))
			}
			if got := strings.Join(compiled, ", "); got != c.compiled || stderr.String() != c.want {
				t.Errorf("compiled %s; said\n%swant %s\n%s", got, stderr.String(), c.compiled, c.want)
			}
		})
	}
}

// compileStrictly refuses files that begin with "refuse", and for one that begins with "blame-" another; and an input without files.
func compileStrictly(in Input) (*pass, error) {
	for s := range in.Sources.All() {
		if other, blames := strings.CutPrefix(string(s.Data), "blame-"); blames {
			return nil, compiler.Errors{{File: other, Message: "is refused", LeftOut: true}}
		}
		if strings.HasPrefix(string(s.Data), "refuse") {
			return nil, compiler.Errors{{File: s.Name, Message: "is refused", LeftOut: true}}
		}
	}
	if len(in.Sources.Slice()) == 0 {
		return nil, compiler.Errors{{Message: "nothing is left"}}
	}
	return &pass{input: in}, nil
}

// The texts that inputs are made of here: a Gateway with a route, and what is no good.
var (
	goodText    = class + "\n---\n" + tenant("a", 8080, "", "10.0.0.1")
	changedText = strings.Replace(goodText, "10.0.0.1", "10.0.0.2", 1)
	brokenText  = goodText + "\n{kind: "
	wrongText   = strings.Replace(goodText, "{name: s, port: 80}", "{name: s, port: 80, colour: blue, size: 1}", 1)
	warnedText  = strings.Replace(goodText, "{name: s, port: 80}", "{name: gone, port: 80}", 1)
)

// failingStore can't remember anything once it fails.
type failingStore struct{ fails bool }

func (s *failingStore) Read() (map[string]json.RawMessage, error) { return nil, nil }
func (s *failingStore) Whole() bool                               { return true }
func (s *failingStore) Write(_ map[string]json.RawMessage, kept func()) error {
	if s.fails {
		return errors.New("no room")
	}
	if kept != nil {
		kept()
	}
	return nil
}

// TestPasses reads texts one after the other, of which the first is what it starts with, and wants this said.
func TestPasses(t *testing.T) {
	const unreadable = "limpet: the input can't be read; the last good configuration keeps serving\n"
	const refused = "limpet: change 1 refused: 1 error; the last good configuration keeps serving\n"
	const warning = "warning: a.yaml:8: HTTPRoute a/r: spec.rules[0].backendRefs[0].name: "
	named := strings.Replace(goodText, "endpoints: [{addresses", "endpoints: [{targetRef: {kind: Pod, uid: u}, addresses", 1)
	for _, c := range []struct {
		name  string
		texts []string
		want  []string // beginnings of lines
	}{
		{"a change", []string{goodText, changedText}, []string{"limpet: change 1 served in "}},
		{"the same again", []string{goodText, goodText}, nil},
		{"refused, then good", []string{goodText, brokenText, changedText}, []string{"error: a.yaml:", refused, "limpet: change 2 served in "}},
		{"wrong twice", []string{goodText, wrongText}, []string{"error: a.yaml:", "error: a.yaml:", strings.Replace(refused, "1 error", "2 errors", 1)}},
		{"not remembered", []string{goodText, "fail", named}, []string{"error: no room", "limpet: change 1 failed; the last good configuration keeps serving"}},
		{"unreadable", []string{goodText, "error: gone", goodText}, []string{"error: gone", unreadable, "limpet: change 1 served in "}},
		{"unreadable, twice alike", []string{goodText, "error: gone", "error: gone"}, []string{"error: gone", unreadable}},
		{"unreadable, again", []string{goodText, "error: gone", goodText, "error: gone"}, []string{"error: gone", unreadable, "limpet: change 1 served in ", "error: gone", unreadable}},
		{"the warning of the start", []string{warnedText, "# a comment\n" + warnedText}, []string{"limpet: change 1 served in "}},
		{"another warning", []string{goodText, warnedText, "# a comment\n" + warnedText}, []string{warning, "limpet: change 1 served in ", "limpet: change 2 served in "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			store := &failingStore{}
			f, _ := newController(t)
			f.Stderr, f.Memory = &stderr, memory.Load(func(*memory.Kind) memory.Store { return store }, func(string, error) {})
			texts := c.texts
			f.Read = func(io.Writer) (Input, error) {
				if texts[0] == "fail" {
					store.fails, texts = true, texts[1:]
				}
				text := texts[0]
				texts = texts[1:]
				if why, fails := strings.CutPrefix(text, "error: "); fails {
					return Input{}, errors.New(why)
				}
				return Input{Sources: read.NewList(compiler.Source{Name: "a.yaml", Data: []byte(text)})}, nil
			}
			if _, err := f.Start(); err != nil {
				t.Fatal(err)
			}
			for len(texts) > 0 {
				isBad := slices.Contains([]string{"fail", brokenText, wrongText}, texts[0]) || strings.HasPrefix(texts[0], "error: ")
				f.reread(time.Now())
				if refused, since := f.InputState(); (len(refused) > 0) != isBad || since.IsZero() == isBad {
					t.Errorf("the input is bad: %v; its state is %q since %v", isBad, refused, since)
				} else if sorted := slices.Sorted(slices.Values(refused)); len(slices.Compact(sorted)) < len(refused) ||
					strings.Contains(strings.Join(refused, ""), "\n") {
					t.Errorf("the state has something twice, or several in one: %q", refused)
				}
			}
			lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
			if stderr.Len() == 0 {
				lines = nil
			}
			if len(lines) != len(c.want) {
				t.Fatalf("said\n%s", stderr.String())
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, strings.TrimSuffix(c.want[i], "\n")) {
					t.Errorf("said %q\nwant %q", line, c.want[i])
				}
			}
		})
	}
}

// given are changes that are told of by a send.
type given chan struct{}

func (g given) Next(ctx context.Context, until time.Time) (time.Time, bool) {
	var due <-chan time.Time
	if !until.IsZero() {
		due = time.After(time.Until(until))
	}
	select {
	case <-g:
		return time.Now(), true
	case <-due:
	case <-ctx.Done():
	}
	return time.Now(), false
}

// drainingText has a host that terminates, which sessions leave after ten minutes, and another one.
var drainingText = strings.Replace(goodText, "endpoints: [", "endpoints: [{addresses: [10.0.0.9], conditions: {ready: false, serving: true, terminating: true}}, ", 1) + `
{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: p, namespace: a},
 spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], drainTimeout: 10m}}
`

// TestRun publishes a change of the input, and one that is due without any, each at its time, and ends with its context.
func TestRun(t *testing.T) {
	c, _ := newController(t)
	in := Input{Sources: read.NewList(compiler.Source{Name: "a.yaml", Data: []byte(drainingText)})}
	if _, err := compiler.Compile(in.Sources.Slice(), c.options(in)); err != nil { // what compilers share is made outside
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, _ := newController(t)
		changes := make(given)
		c.Changes, c.Read = changes, func(io.Writer) (Input, error) { return in, nil }
		if _, err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Run(ctx)
		}()
		expect := func(what string, hosts ...string) {
			t.Helper()
			synctest.Wait()
			text := c.Server.Latest("a/gw").Resources(xds.Endpoint)[0].Body().String()
			for _, host := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.9"} {
				if has := strings.Contains(text, host); has != slices.Contains(hosts, host) {
					t.Errorf("%s: %s is served: %t", what, host, has)
				}
			}
		}
		time.Sleep(10*time.Minute - time.Second)
		expect("before it is due", "10.0.0.1", "10.0.0.9")
		time.Sleep(2 * time.Second)
		expect("when it is due", "10.0.0.1")
		in = Input{Sources: read.NewList(compiler.Source{Name: "a.yaml", Data: []byte(changedText)})}
		changes <- struct{}{}
		expect("after a change", "10.0.0.2")
		stop()
		<-ended
	})
}
