package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

const checkHelp = `check says what becomes of each object, and writes nothing.

It prints a table: the object, a verdict, the reason of the status condition
that says so, where it is written, and what there is to say. The verdicts:

  Accepted   nothing to say
  Advice     worth knowing; nothing is lost
  Warning    accepted, but not honoured in full
  Refused    not accepted, or a part of it is not

Documents that no API server would admit are refused, all at once; the others
are not checked then, for what becomes of them may depend on those.

-o yaml and -o json print the objects' statuses instead, as a controller would
write them: conditions, a Gateway's listeners, a route's parents, a policy's
ancestors. What other controllers wrote into a status stays. Refusals and
warnings go to standard error.

Exit codes: 0 everything is accepted, 1 something is refused, or with --strict
warned of, 2 wrong usage.`

const checkExamples = `  limpet check -f gateways/ -f routes.yaml

  # in CI: nothing may be left unhonoured
  limpet check -f gateways/ --strict

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
	input  inputFlags
	format string
	target string
	strict bool
}

func newCheck() *cobra.Command {
	var cc checkCommand
	c := &cobra.Command{
		Use:     "check -f PATH... [-o table|yaml|json] [--strict]",
		Short:   "Say what becomes of each object",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    cc.check,
		RunE:    func(c *cobra.Command, _ []string) error { return cc.run(c) },
	}
	cc.input.register(c)
	c.Flags().BoolVar(&cc.strict, "strict", false, "exit 1 also for warnings")
	targets := strings.Join(compiler.Targets(), "|")
	c.Flags().StringVarP(&cc.target, "target", "t", string(compiler.TargetEnvoy), "check for `"+targets+"`")
	c.Flags().StringVarP(&cc.format, "output", "o", formatTable, "print `table|yaml|json`")
	return c
}

func (cc *checkCommand) check(c *cobra.Command, args []string) error {
	if targets := compiler.Targets(); !slices.Contains(targets, cc.target) {
		return usagef("--target %q: must be one of %s", cc.target, strings.Join(targets, ", "))
	}
	switch cc.format {
	case formatTable, formatYAML, formatJSON:
		return cc.input.check(c, args)
	default:
		return usagef("--output %q: must be table, yaml or json", cc.format)
	}
}

func (cc *checkCommand) run(c *cobra.Command) error {
	sources, err := cc.input.readSources(c.InOrStdin())
	if err != nil {
		return err
	}
	checked, err := compiler.Check(sources, cc.input.checkOptions(cc.target))
	if err != nil {
		return err
	}
	err = cc.print(c, checked)
	if err == nil && !checked.OK(cc.strict) {
		return errRefused
	}
	return err
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

func formatSeverity(v status.Verdict) string {
	if v == status.Refused {
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
