package livereload

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/rollout"
)

// TestRefusedListeners: a listener that an Envoy elsewhere does not take is left out of the next compilation, for a while, and
// its Gateway is told; the others stay. Where it is the only one, the change fails.
func TestRefusedListeners(t *testing.T) {
	d, err := NewDynamic(t.TempDir(), memory.New())
	must(t, err)
	d.Reports = true
	d.FileMode = func(*compiler.Result) fs.FileMode { return 0o600 }
	d.Options = func(Inputs) compiler.Options {
		return compiler.Options{Envoy: &compiler.EnvoyOptions{ModulePath: "/limpet.wasm"}}
	}
	compile := func(documents ...string) *compiler.Result {
		text := strings.Join(append(documents, class), "\n")
		result, err := d.Compile(Inputs{Sources: []compiler.Source{{Name: "in.yaml", Data: []byte(text)}}})
		must(t, err)
		return result
	}
	a, b := tenant("a", 8081, "", "10.0.0.1"), tenant("b", 8082, "{value: 192.0.2.1}", "10.0.0.2")
	must(t, d.Start(compile(a)))
	both := compile(a, b)
	refuse := func(of *compiler.Result, names ...string) error {
		return d.leaveOut(fmt.Errorf("change: %w", &rollout.Rejected{File: "lds.pb", Missing: names}), of.Discovery)
	}
	if err := refuse(both); errors.Is(err, ErrAgain) {
		t.Errorf("without a name: %v", err)
	}
	if err := refuse(compile(b), "listener/192.0.2.1/8082"); errors.Is(err, ErrAgain) {
		t.Errorf("the only listener: %v", err)
	}
	both = compile(a, b)
	if err := refuse(both, "listener/192.0.2.1/8082"); !errors.Is(err, ErrAgain) {
		t.Errorf("one of two: %v", err)
	}
	next := compile(a, b)
	if len(both.Discovery.Listeners) != 2 || len(next.Discovery.Listeners) != 1 {
		t.Errorf("%d listeners, then %d", len(both.Discovery.Listeners), len(next.Discovery.Listeners))
	}
	said := ""
	for _, w := range next.Warnings {
		said += w.Object + ": " + w.Message + "\n"
	}
	if !strings.Contains(said, "Gateway b/gw: ") || !strings.Contains(said, "the Envoy that runs does not listen on 192.0.2.1:8082") ||
		strings.Contains(said, "Gateway a/gw") {
		t.Errorf("told is %s", said)
	}
	for at, r := range d.refused {
		d.refused[at] = refusal{r.why, time.Now().Add(-2 * refusedFor)}
	}
	if later := compile(a, b); len(later.Discovery.Listeners) != 2 {
		t.Error("it is not tried again")
	}
}

// TestKeptListeners: a listener of which Envoy does not take the change stays as it is until it changes again or a while is over,
// and the others go on.
func TestKeptListeners(t *testing.T) {
	of := func(contents ...string) *envoy.Discovery {
		d := &envoy.Discovery{}
		for i, c := range contents {
			d.Listeners = append(d.Listeners, envoy.Resource{Name: fmt.Sprint(i), Content: []byte(c)})
		}
		return d
	}
	d := &Dynamic{kept: keptListeners{}}
	why := &rollout.Rejected{File: envoy.ListenersFile, Changed: []string{"0"}}
	if err := d.leaveOut(why, of("bad", "good")); !errors.Is(err, ErrAgain) {
		t.Errorf("a change is rejected: %v", err)
	}
	live := of("was", "good")
	expect := func(next *envoy.Discovery, want ...string) {
		t.Helper()
		for i, l := range d.kept.putBack(live, next).Listeners {
			if string(l.Content) != want[i] {
				t.Errorf("listener %d is %s, want %s", i, l.Content, want[i])
			}
		}
	}
	expect(of("bad", "better"), "was", "better")
	expect(of("mended", "good"), "mended", "good")
	d.kept["0"] = rejectedListener{d.kept["0"].content, time.Now().Add(-2 * refusedFor)}
	expect(of("bad", "good"), "bad", "good")
}
