// Package livereload keeps what was made of input files up to date with them: it compiles each change and applies it,
// to files or to an Envoy that runs, while the last good configuration keeps serving.
package livereload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Inputs are all that a compilation reads.
type Inputs struct {
	Keys    policyconfig.Keys
	Sources []compiler.Source
}

// equal tells whether two are the same.
func (in *Inputs) equal(other *Inputs) bool {
	return slices.EqualFunc(in.Sources, other.Sources, func(a, b compiler.Source) bool {
		return a.Name == b.Name && sameBytes(a.Data, b.Data)
	}) && reflect.DeepEqual(in.Keys, other.Keys)
}

// sameBytes compares contents, which mostly are the same slice.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}

// Changes tells when inputs change.
type Changes interface {
	// Next waits for a change to what it told of last, and gives the time of the first sign of it; false when ctx ends or
	// a time that is not zero has come.
	Next(ctx context.Context, until time.Time) (since time.Time, changed bool)
	// Changed tells whether there is a change that Next has not told of.
	Changed() bool
}

// Output is what a [Reconciler] keeps up to date.
type Output interface {
	// Compile makes a result of the inputs.
	Compile(Inputs) (*compiler.Result, error)
	// Apply puts a result to use, and says in a line what that came to, for a change that was seen at the time given; empty for nothing to
	// say.
	Apply(ctx context.Context, since time.Time, result *compiler.Result) (string, error)
	// Serving says, for a line about a change that did not come into effect, what goes on instead.
	Serving() string
}

// LastGood says of an output that what it had last goes on.
const LastGood = "the last good configuration keeps serving"

// Reconciler applies every change of the inputs to an output.
type Reconciler struct {
	// Changes tells when the inputs change. It must be made before they are read for the first time.
	Changes Changes
	// Read reads the inputs. What there is to say of key files goes to stderr.
	Read   func(stderr io.Writer) (Inputs, error)
	Output Output
	Stderr io.Writer
	// Announce tells of a change that was applied; nil prints it.
	Announce func(change int, since time.Time, what string)
	// Strict has Start fail when a file is no good, in place of going on without it.
	Strict bool

	// until is when the same inputs come to something else, as a host will have drained; zero is never.
	until time.Time

	inputs    Inputs // of the last attempt
	changes   int    // attempts so far
	held      held
	warned    map[string]bool
	collected time.Time
	readError string // the last one, empty since the inputs could be read again
}

// Start reads and compiles the inputs, before anything is kept up to date.
func (r *Reconciler) Start() (*compiler.Result, error) {
	var err error
	if r.inputs, err = r.Read(r.Stderr); err != nil {
		return nil, err
	}
	r.held.strict = r.Strict
	result, err := r.compile()
	if err == nil {
		r.newWarnings(result.Warnings)
	}
	return result, err
}

// Run applies one change after the other until ctx ends.
func (r *Reconciler) Run(ctx context.Context) {
	for {
		since, changed := r.Changes.Next(ctx, r.until)
		switch {
		case ctx.Err() != nil:
			return
		case changed:
			r.reread(ctx, since)
		default:
			r.until = time.Time{} // should it fail, the next change will tell
			r.reconcile(ctx, since)
		}
	}
}

// reread reads the inputs again, and applies them if they say anything else than before.
func (r *Reconciler) reread(ctx context.Context, since time.Time) {
	now, err := r.Read(io.Discard) // what there was to say of the key file has been said
	if err != nil {
		if r.readError != err.Error() {
			message.Print(r.Stderr, err.Error())
			message.Print(r.Stderr, "the input can't be read; "+r.Output.Serving())
		}
		r.readError = err.Error()
		return
	}
	r.readError = ""
	if !now.equal(&r.inputs) {
		r.inputs = now
		r.reconcile(ctx, since)
	}
}

// reconcile applies the inputs that were read last, as another change.
func (r *Reconciler) reconcile(ctx context.Context, since time.Time) {
	r.changes++
	what, err := r.compileAndApply(ctx, since)
	switch {
	case err == nil && what == "": // and so it was no change
		r.changes--
	case err == nil && r.Announce != nil:
		r.Announce(r.changes, since, what)
	case err == nil:
		message.Printf(r.Stderr, "change %d %s", r.changes, what)
	case ctx.Err() != nil:
	default:
		r.printFailure(err)
	}
	r.collect()
}

// collectEvery is how often memory is collected after changes: they may come many times a second.
const collectEvery = 10 * time.Second

// collect collects memory now that nothing waits for it, not during the next change.
func (r *Reconciler) collect() {
	if now := time.Now(); now.Sub(r.collected) >= collectEvery {
		r.collected = now
		go runtime.GC()
	}
}

func (r *Reconciler) compileAndApply(ctx context.Context, since time.Time) (string, error) {
	result, err := r.compile()
	if err != nil {
		return "", err
	}
	message.PrintProblems(r.Stderr, r.listNew(result))
	return r.Output.Apply(ctx, since, result)
}

// compile compiles the inputs that were read last, and reports.
func (r *Reconciler) compile() (*compiler.Result, error) {
	result, err := r.held.compile(r.inputs, r.Output, r.Stderr)
	if err == nil {
		r.until = result.Until
	}
	return result, err
}

// listNew gives what there is to say that was not said of the last configuration. An output may know that itself.
func (r *Reconciler) listNew(result *compiler.Result) []compiler.Problem {
	if knows, itself := r.Output.(interface{ NewWarnings() []compiler.Problem }); itself {
		return knows.NewWarnings()
	}
	return r.newWarnings(result.Warnings)
}

// newWarnings gives the warnings that the last configuration did not have, wherever in the files they were then.
func (r *Reconciler) newWarnings(warnings []compiler.Problem) []compiler.Problem {
	before := r.warned
	r.warned = map[string]bool{}
	return slices.DeleteFunc(slices.Clone(warnings), func(p compiler.Problem) bool {
		what := p.Object + "\n" + p.Path + "\n" + p.Message
		r.warned[what] = true
		return before[what]
	})
}

// printFailure says why a change is not applied.
func (r *Reconciler) printFailure(err error) {
	kept := r.Output.Serving()
	var refused compiler.Errors
	if errors.As(err, &refused) {
		message.PrintErrors(r.Stderr, refused)
		message.Printf(r.Stderr, "change %d refused: %s; %s", r.changes, message.Plural(len(refused), "error"), kept)
		return
	}
	message.Print(r.Stderr, err.Error())
	message.Printf(r.Stderr, "change %d failed; %s", r.changes, kept)
}
