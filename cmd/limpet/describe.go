package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/describe"
)

const describeHelp = `describe shows which settings are effective at an object, and why.

For every rule that requests reach through the object, and every listener they
come through: each field with its value, the object, file and line that it
comes from, and what it overrides. First the session persistence, then how
requests that belong to no session are balanced and how many retries they may
have, then how long all may take and which are retried. The object may be an HTTPRoute,
GRPCRoute, HTTPProxy, Service, XBackend, Gateway or GatewayClass; SECTION is the
name of a listener of the Gateway, or of a rule of the route.

Of a policy it shows what becomes of each target, and what the policy does on
every path that traffic takes: which of its fields are effective, and what
overrides the others.

KIND is the kind in any case, singular or plural. NAMESPACE may be left out
where the name is the only one of its kind and no SECTION is named.

Exit codes: 0 done, 1 input refused or no such object, 2 wrong usage.`

const describeExamples = `  limpet describe httproute/shop/cart -f gateways/

  # through one listener
  limpet describe gateway/infra/web/https -f gateways/

  # what a policy does
  limpet describe sessionpersistencepolicy/shop/cart -f gateways/ -o json`

// describeCommand is "limpet describe".
type describeCommand struct {
	input   inputFlags
	format  string
	target  string
	section string
	object  string
}

func newDescribe() *cobra.Command {
	var dc describeCommand
	c := &cobra.Command{
		Use:     "describe KIND[/NAMESPACE]/NAME[/SECTION] PATH... [-o text|yaml|json]",
		Short:   "Show which settings are effective at an object, and why",
		Long:    describeHelp,
		Example: describeExamples,
		Args:    dc.checkFlags,
		RunE:    func(c *cobra.Command, _ []string) error { return dc.run(c) },
	}
	flags := c.Flags()
	dc.input.registerSources(flags)
	dc.input.kinds.registerAssumed(flags)
	dc.input.kinds.allowEmpty = true
	dc.input.registerShared(flags)
	dc.input.policies.register(flags)
	dc.input.registerListing(flags)
	registerTarget(flags, &dc.target, "describe for")
	flags.StringVarP(&dc.format, "output", "o", formatText, "print `text|yaml|json`")
	return c
}

// checkFlags takes the first argument as the object; others are further paths, as everywhere.
func (dc *describeCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := checkTarget(dc.target); err != nil {
		return err
	}
	if err := checkChoice("output", dc.format, formatText, formatYAML, formatJSON); err != nil {
		return err
	}
	if len(args) == 0 {
		return usagef("name an object, such as HTTPRoute/shop/cart; see '%s --help'", c.CommandPath())
	}
	dc.object = args[0]
	if len(args) > 1 && !strings.Contains(dc.object, "/") && !isThere(args[1]) {
		return usagef("an object is one word: did you mean %s/%s?", dc.object, args[1])
	}
	if parts := strings.Split(dc.object, "/"); len(parts) == 4 {
		dc.object, dc.section = strings.Join(parts[:3], "/"), parts[3]
	}
	return dc.input.checkFlags(c, args[1:])
}

func (dc *describeCommand) run(c *cobra.Command) error {
	sources, err := dc.input.readSources(c.InOrStdin())
	if err != nil {
		return err
	}
	description, err := compiler.Describe(sources, dc.input.checkOptions(dc.target), dc.object, dc.section)
	if err != nil {
		return err
	}
	if dc.format == formatText {
		return describe.WriteText(c.OutOrStdout(), description)
	}
	return printValue(c.OutOrStdout(), dc.format, description)
}

// printValue prints a value as YAML or JSON.
func printValue(to io.Writer, format string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil && format == formatYAML {
		text, err = yaml.JSONToYAML(text)
	} else {
		text = append(text, '\n')
	}
	return writeMade(to, text, err)
}
