package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/message"
)

const checkHelp = `check says what becomes of each object, and writes nothing.

It prints what there is to say, the worst first, and a line that counts the
objects. Each finding begins with its severity:

  error     the object is not accepted, or a part of it is not
  unknown   it hangs on objects that could not be read
  warning   accepted, but not honoured in full
  advice    worth knowing; nothing is lost

Behind it is its code, of which 'limpet explain CODE' says more. A finding of many
objects is told once, with the first three; -v lists all, and accepted objects.

Documents that no API server would admit are refused, and what limpet does not
support: a rule, a listener or an object; so are files that can't be read. All else is served without them, as
'limpet compile' would.

With --since PATH, the objects as they are now, it warns of every rule whose
sessions the new objects end, and why: a rule that is renamed or gone, matches
of a rule without a name that change, another cookie, a revocation. It lists, too,
each value that is effective in a rule and that another object changes: a new
default on a Gateway, or a policy that is gone.

-o yaml and -o json print the objects' statuses instead, as a controller would
write them: conditions, a Gateway's listeners, a route's parents, a policy's
ancestors. What other controllers wrote into a status stays. With yaml the findings
go to standard error, with json they stand under "findings". -o github is for GitHub's
workflows, which show each finding at its line.

Exit codes, the same as those of compile: 0 everything is accepted, 3 something
is refused, 1 with --strict something is refused or warned of, or no listener is
left, 2 wrong usage.`

const checkExamples = `  limpet check -f gateways/ -f routes.yaml

  # in CI: nothing may be left unhonoured
  limpet check -f gateways/ --strict

  # does this edit end sessions?
  git show HEAD:routes.yaml > before.yaml
  limpet check -f gateways/ -f routes.yaml --since gateways/ --since before.yaml

  # what status a controller would write
  limpet check -f gateways/ -o yaml`

// The formats of -o.
const (
	formatText   = "text"
	formatYAML   = "yaml"
	formatJSON   = "json"
	formatGitHub = "github"
)

// checkCommand is "limpet check".
type checkCommand struct {
	input   inputFlags
	format  string
	target  string
	since   []string
	verdict verdictFlags
	output  outputFlags
}

func newCheck() *cobra.Command {
	var cc checkCommand
	c := &cobra.Command{
		Use:     "check PATH... [-o text|yaml|json|github] [--strict]",
		Short:   "Say what becomes of each object",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    cc.checkFlags,
		RunE:    func(c *cobra.Command, _ []string) error { return cc.run(c) },
	}
	flags := c.Flags()
	cc.input.registerSources(flags)
	cc.input.kinds.registerAssumed(flags)
	cc.input.registerPlace(flags)
	cc.input.registerShared(flags)
	cc.input.registerLimits(flags)
	cc.input.policies.register(flags)
	cc.input.registerListing(flags)
	cc.verdict.register(flags, "exit 1 for warnings and for what is left out")
	cc.verdict.registerFailOn(flags)
	cc.output.register(flags, "list accepted objects too, and each object that has a finding")
	cc.output.registerQuiet(flags)
	registerTarget(flags, &cc.target, "check for")
	flags.StringArrayVar(&cc.since, "since", nil,
		"warn of rules whose sessions end when the input takes the place of\nthat in `PATH`; may be repeated")
	flags.StringVarP(&cc.format, "output", "o", formatText,
		"print `text|yaml|json|github`: findings for people, or as\n"+
			"workflow commands of GitHub, or the statuses with all there is to say")
	return c
}

func (cc *checkCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := checkTarget(cc.target); err != nil {
		return err
	}
	if err := checkChoice("output", cc.format, formatText, formatYAML, formatJSON, formatGitHub); err != nil {
		return err
	}
	if err := errors.Join(cc.verdict.checkFlags(), cc.output.checkFlags()); err != nil {
		return err
	}
	return cc.input.checkFlags(c, args)
}

func (cc *checkCommand) run(c *cobra.Command) error {
	sources, err := cc.input.readSources(c.InOrStdin())
	if err != nil {
		return err
	}
	options := cc.input.checkOptions(cc.target)
	if len(cc.since) > 0 {
		if options.Since, err = inputfiles.Read(cc.since, c.InOrStdin()); err != nil {
			return err
		}
	}
	checked, err := compiler.Check(sources, options)
	if err != nil {
		return err
	}
	if cc.input.isListed() {
		checked.Rows = cc.input.listing.choose(checked.Rows)
	}
	if err := cc.print(c, checked); err != nil {
		return err
	}
	message.PrintPassedOver(c.ErrOrStderr(), checked.PassedOver)
	if len(checked.Errors) > 0 {
		return errRefused
	}
	return cc.verdict.errorFor(checked.Worst())
}

func (cc *checkCommand) print(c *cobra.Command, checked *compiler.CheckResult) error {
	out := c.OutOrStdout()
	switch cc.format {
	case formatYAML:
		message.PrintFindings(c.ErrOrStderr(), checked.Rows, cc.output.style(c.ErrOrStderr(), compiler.Advice, &cc.verdict))
		text, err := status.YAML(checked.Objects)
		return writeMade(out, text, err)
	case formatJSON:
		isAccepted := func(r status.Row) bool { return r.Severity == "" }
		text, err := status.JSON(checked.Objects, slices.DeleteFunc(slices.Clone(checked.Rows), isAccepted))
		return writeMade(out, text, err)
	case formatGitHub:
		message.PrintForGitHub(out, checked.Rows)
		return nil
	}
	message.PrintFindings(out, checked.Rows, cc.output.style(out, compiler.Advice, &cc.verdict))
	if cc.output.verbose {
		printAccepted(out, checked.Rows)
	}
	if !cc.output.quiet {
		fmt.Fprintln(out, message.Summary(checked.Rows))
	}
	return nil
}

// printAccepted prints a row for each object of which there is nothing to say.
func printAccepted(out io.Writer, rows []status.Row) {
	for _, r := range rows {
		if r.Severity == "" {
			place := r.Place()
			if place != "" {
				place += ": "
			}
			fmt.Fprintf(out, "accepted: %s%s\n", place, r.Object)
		}
	}
}

// checkOptions are those of commands that write no configuration, hence need no keys.
func (f *inputFlags) checkOptions(target string) compiler.Options {
	o := compiler.Options{Target: compiler.Target(target), Bind: f.bind, Time: time.Now()}
	f.set(&o)
	if f.isListed() {
		f.listing.set(&o)
	}
	return o
}
