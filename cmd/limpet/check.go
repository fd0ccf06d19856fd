package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/message"
)

const checkHelp = `check says what becomes of each object, and writes nothing.

It prints a table: the object, a verdict, the reason of the status condition
that says so, where it is written, and what there is to say. The verdicts:

  Accepted   nothing to say
  Advice     worth knowing; nothing is lost
  Warning    accepted, but not honoured in full
  Refused    not accepted, or a part of it is not

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
ancestors. What other controllers wrote into a status stays. Refusals and
warnings go to standard error.

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
	formatTable = "table"
	formatText  = "text"
	formatYAML  = "yaml"
	formatJSON  = "json"
)

// checkCommand is "limpet check".
type checkCommand struct {
	input   inputFlags
	format  string
	target  string
	since   []string
	verdict verdictFlags
}

func newCheck() *cobra.Command {
	var cc checkCommand
	c := &cobra.Command{
		Use:     "check PATH... [-o table|yaml|json] [--strict]",
		Short:   "Say what becomes of each object",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    cc.check,
		RunE:    func(c *cobra.Command, _ []string) error { return cc.run(c) },
	}
	cc.input.register(c)
	cc.verdict.register(c.Flags(), "exit 1 for warnings and for what is left out")
	registerTarget(c.Flags(), &cc.target, "check for")
	c.Flags().StringArrayVar(&cc.since, "since", nil,
		"warn of rules whose sessions end when the input takes the place of\nthat in `PATH`; may be repeated")
	c.Flags().StringVarP(&cc.format, "output", "o", formatTable, "print `table|yaml|json`")
	return c
}

func (cc *checkCommand) check(c *cobra.Command, args []string) error {
	if err := checkTarget(cc.target); err != nil {
		return err
	}
	if err := checkChoice("output", cc.format, formatTable, formatYAML, formatJSON); err != nil {
		return err
	}
	if err := cc.verdict.check(); err != nil {
		return err
	}
	return cc.input.check(c, args)
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
	if err := cc.print(c, checked); err != nil {
		return err
	}
	message.PrintPassedOver(c.ErrOrStderr(), checked.PassedOver)
	if len(checked.Errors) > 0 {
		return errRefused
	}
	return cc.verdict.judge(checked.Worst())
}

func (cc *checkCommand) print(c *cobra.Command, checked *compiler.CheckResult) error {
	if cc.format == formatTable {
		return printTable(c.OutOrStdout(), checked.Rows)
	}
	for _, r := range checked.Rows {
		if r.Message != "" {
			fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n",
				formatSeverity(r.Verdict), joinParts(formatPlace(r), r.Object, r.Path, r.Message))
		}
	}
	write := status.YAML
	if cc.format == formatJSON {
		write = status.JSON
	}
	text, err := write(checked.Objects)
	return errors.Join(err, writeOutput(c.OutOrStdout(), text))
}

func formatSeverity(v compiler.Verdict) string {
	if v == compiler.Refused {
		return "error"
	}
	return "warning"
}

// printTable prints the rows in columns.
func printTable(out io.Writer, rows []status.Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "OBJECT\tVERDICT\tREASON\tWHERE\tMESSAGE")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n",
			orDash(r.Object), r.Verdict, orDash(r.Reason), formatPlace(r), orDash(joinParts(r.Path, r.Message)))
	}
	return w.Flush()
}

// formatPlace gives FILE:LINE.
func formatPlace(r status.Row) string {
	if r.Line == 0 {
		return r.File
	}
	return r.File + ":" + strconv.Itoa(r.Line)
}

// joinParts joins what is there of a message's parts.
func joinParts(parts ...string) string {
	var there []string
	for _, p := range parts {
		if p != "" {
			there = append(there, p)
		}
	}
	return strings.Join(there, ": ")
}

// orDash gives a dash for nothing, in a table.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// writeOutput writes the product to standard output.
func writeOutput(out io.Writer, text []byte) error {
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// checkOptions are those of commands that write no configuration, hence need no keys.
func (f *inputFlags) checkOptions(target string) compiler.Options {
	o := compiler.Options{Target: compiler.Target(target), Bind: f.bind, Time: time.Now()}
	f.set(&o)
	return o
}
