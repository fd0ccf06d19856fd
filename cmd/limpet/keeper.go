package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/message"
)

// keeper keeps what was made of the input up to date with it.
type keeper struct {
	in     *input
	stderr io.Writer
	files  *inputfiles.Watcher
	// compile makes a result of the input, and apply puts it to use and says in a line what that came to, for a change
	// that was seen at the time given.
	compile func(material) (*compiler.Result, error)
	apply   func(context.Context, time.Time, *compiler.Result) (string, error)
	// report, if there is one, writes down what every compilation has to say.
	report func(compiler.Errors, *compiler.Result) error

	// until is when the same input comes to something else, as a host will have drained; zero is never.
	until time.Time

	seen   material // of the last attempt
	number int      // of the last attempt
	warned map[string]bool
	said   string // the last error that the input could not be read
}

// newKeeper watches the input's files. It must be made before they are read for the first time.
func (in *input) newKeeper(stderr io.Writer) *keeper {
	paths := slices.Clone(in.paths)
	if in.keys.file != "" {
		paths = append(paths, in.keys.file)
	}
	in.cache = compiler.NewCache()
	return &keeper{in: in, stderr: stderr, files: inputfiles.NewWatcher(paths...)}
}

// first reads and compiles the input before anything is kept up to date.
func (k *keeper) first() (*compiler.Result, error) {
	var err error
	if k.seen, err = k.in.read(nil, k.stderr); err != nil {
		return nil, err
	}
	result, err := k.judge(k.seen)
	if err == nil {
		k.unwarned(result.Warnings)
	}
	return result, err
}

// judge compiles and reports.
func (k *keeper) judge(m material) (*compiler.Result, error) {
	result, err := k.compile(m)
	if err == nil {
		k.until = result.Until
	}
	var refused compiler.Errors
	if k.report != nil && (err == nil || errors.As(err, &refused)) {
		err = errors.Join(err, k.report(refused, result))
	}
	return result, err
}

// keep applies one change after the other until ctx ends.
func (k *keeper) keep(ctx context.Context) {
	for {
		since, changed := k.files.Next(ctx, k.until)
		switch {
		case ctx.Err() != nil:
			return
		case changed:
			k.look(ctx, since)
		default:
			k.until = time.Time{} // should it fail, the next change will tell
			k.change(ctx, since)
		}
	}
}

// look reads the input again, and applies it if it says anything else than before.
func (k *keeper) look(ctx context.Context, since time.Time) {
	now, err := k.in.read(nil, io.Discard) // what there was to say of the key file has been said
	if err != nil {
		if k.said != err.Error() {
			message.Print(k.stderr, err.Error())
			fmt.Fprintln(k.stderr, "limpet: the input can't be read; the last good configuration keeps serving")
		}
		k.said = err.Error()
		return
	}
	k.said = ""
	if !reflect.DeepEqual(now, k.seen) {
		k.seen = now
		k.change(ctx, since)
	}
}

// change applies what was read last.
func (k *keeper) change(ctx context.Context, since time.Time) {
	k.number++
	what, err := k.take(ctx, since)
	switch {
	case err == nil:
		fmt.Fprintf(k.stderr, "limpet: change %d %s\n", k.number, what)
	case ctx.Err() == nil:
		k.refuse(err)
	}
	go runtime.GC() // now that nobody waits, not during the next change
}

// take compiles and applies.
func (k *keeper) take(ctx context.Context, since time.Time) (string, error) {
	result, err := k.judge(k.seen)
	if err != nil {
		return "", err
	}
	message.PrintWarnings(k.stderr, k.unwarned(result.Warnings))
	return k.apply(ctx, since, result)
}

// unwarned gives the warnings that the last configuration did not have, wherever in the files they were then.
func (k *keeper) unwarned(warnings []compiler.Problem) []compiler.Problem {
	before := k.warned
	k.warned = map[string]bool{}
	return slices.DeleteFunc(slices.Clone(warnings), func(p compiler.Problem) bool {
		what := p.Object + "\n" + p.Path + "\n" + p.Message
		k.warned[what] = true
		return before[what]
	})
}

func (k *keeper) refuse(err error) {
	const kept = "the last good configuration keeps serving"
	var problems compiler.Errors
	if errors.As(err, &problems) {
		message.PrintErrors(k.stderr, problems)
		fmt.Fprintf(k.stderr, "limpet: change %d refused: %s; %s\n", k.number, message.Plural(len(problems), "error"), kept)
		return
	}
	message.Print(k.stderr, err.Error())
	fmt.Fprintf(k.stderr, "limpet: change %d failed; %s\n", k.number, kept)
}
