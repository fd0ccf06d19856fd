package livereload

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
)

// Rewriter is the output of targets that are files alone: each change writes all of them anew.
type Rewriter struct {
	Dir string
	// Options are those of a compilation of the inputs.
	Options func(Inputs) compiler.Options
	// Files are what a result comes to.
	Files func(*compiler.Result) ([]atomicfile.File, error)

	incumbents *compiler.Incumbents // of what was written last
}

// Compile compiles the inputs.
func (w *Rewriter) Compile(in Inputs) (*compiler.Result, error) {
	o := w.Options(in)
	o.Incumbents, o.HoldInvalid = cmp.Or(w.incumbents, &compiler.Incumbents{}), true
	return compiler.Compile(in.Sources, o)
}

// Apply writes all files, or none.
func (w *Rewriter) Apply(_ context.Context, since time.Time, result *compiler.Result) (string, error) {
	return "written " + formatDuration(since), w.Write(result)
}

// Serving says what goes on when a change does not come into effect.
func (w *Rewriter) Serving() string { return LastGood }

// Write is Apply for the first result.
func (w *Rewriter) Write(result *compiler.Result) error {
	files, err := w.Files(result)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteAll(w.Dir, files); err != nil {
		return err
	}
	w.incumbents = result.Incumbents
	return nil
}

// formatDuration says how long something has taken since it was first seen to be due.
func formatDuration(since time.Time) string {
	return fmt.Sprintf("in %d ms", time.Since(since).Milliseconds())
}
