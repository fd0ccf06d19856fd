package main

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/message"
)

// outputFlags say how much is told of the input.
type outputFlags struct{ verbose, quiet bool }

func (o *outputFlags) register(f *pflag.FlagSet, verbose string) {
	f.BoolVarP(&o.verbose, "verbose", "v", false, verbose)
}

func (o *outputFlags) registerQuiet(f *pflag.FlagSet) {
	f.BoolVarP(&o.quiet, "quiet", "q", false, "tell of nothing but errors, and of what --fail-on fails for")
}

func (o *outputFlags) checkFlags() error {
	if o.verbose && o.quiet {
		return usagef("--verbose and --quiet: name one of the two")
	}
	return nil
}

// style is how a command that writes configuration prints findings: without advice, unless that is asked for.
func (f *configFlags) style(to io.Writer) message.Style {
	return f.output.style(to, compiler.Warning, &f.verdict)
}

// style is how findings are printed to a stream, from the least verdict on, unless the flags say otherwise. What fails
// is told in any case.
func (o *outputFlags) style(to io.Writer, least compiler.Verdict, of *verdictFlags) message.Style {
	s := message.Style{Least: least, All: o.verbose}
	switch {
	case o.verbose:
		s.Least = compiler.Advice
	case o.quiet:
		s.Least = compiler.Refused
	}
	if level, fails := of.level(); fails && s.Least.AtLeast(level) {
		s.Least = level
	}
	return s.On(to)
}
