package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/message"
)

// codePrefix is what codes begin with; digits alone will do.
const codePrefix = "LIM"

const explainHelp = `explain says what a finding means, with an example, and what to do about it. Its
code stands behind it in brackets, where check, compile, run or serve tell of it, and
is the same from one version of limpet to the next. Without a code it lists all.

docs/findings.md has the same.`

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "Say what a finding means, and what to do about it",
		Long:    explainHelp,
		Example: "  limpet explain LIM0401",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noArgs(c, args[1:])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, e := range report.Explanations {
					fmt.Fprintf(c.OutOrStdout(), "%s  %s\n", e.Code, e.Title)
				}
				return nil
			}
			code := strings.ToUpper(args[0])
			if !strings.HasPrefix(code, codePrefix) {
				code = codePrefix + code
			}
			e, known := report.Explain(report.Code(code))
			if !known {
				var all []string
				for _, e := range report.Explanations {
					all = append(all, string(e.Code))
				}
				return usagef("%q is no finding's code%s; 'limpet explain' lists them", args[0], didYouMean(code, all))
			}
			style := message.Style{}.On(c.OutOrStdout())
			fmt.Fprintf(c.OutOrStdout(), "%s: %s\n\n%s\n\n%s\n\n%s\n",
				e.Code, e.Title, style.Wrap(e.Meaning), style.Wrap("Example: "+e.Example), style.Wrap("What to do: "+e.Do))
			return nil
		},
	}
}
