package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `limpet makes HTTP sessions stick to their backend on Envoy, Istio and Envoy
Gateway, with tokens that cannot be forged.

It compiles Gateway API YAML (Gateways, HTTPRoutes with sessionPersistence,
session policies, Services, EndpointSlices) into a complete Envoy
configuration, or into resources for Istio or Envoy Gateway, each with the
configuration of limpet's own Envoy filter.`

const rootExamples = `  # see it work: compile and run Envoy on it
  limpet run -f examples/quickstart --bind 127.0.0.1

  # write envoy.yaml, plugin.json and limpet.wasm, then run Envoy on them
  limpet compile -f examples/quickstart -t envoy -o out
  export LIMPET_KEYS="$(limpet keygen)"
  envoy -c out/envoy.yaml`

// newRoot builds the command tree. Faults of usage come back as usageError from every command in it.
func newRoot() *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:           "limpet",
		Short:         "HTTP sessions that stick to their backend, on Envoy, Istio and Envoy Gateway",
		Long:          rootHelp,
		Example:       rootExamples,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(c.OutOrStdout())
			}
			return usagef(
				"say what to do: compile, run, serve, bootstrap, status, check, describe, explain, image, inspect, keygen, " +
					"plugin, revoke, ticket or version; 'limpet --help' explains them",
			)
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print what 'limpet version' prints")
	root.CompletionOptions.HiddenDefaultCmd = true
	registerHelp(root)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1)) // limpet alone does nothing
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if name := misspeltCommand(c); name != "" {
			return usagef("unknown command %q%s; see 'limpet --help'", name, didYouMean(name, listCommands(c)))
		}
		if wrong := new(pflag.InvalidValueError); errors.As(err, &wrong) {
			return explainValue(wrong)
		}
		return usagef("%w%s; see '%s --help'", err, cmp.Or(explainServe(c, err), addDidYouMean(c, err)), c.CommandPath())
	})
	root.AddCommand(
		newCompile(),
		newRun(),
		newCheck(),
		newDescribe(),
		newExplain(),
		newServe(),
		newBootstrap(),
		newStatus(),
		newImage(),
		newKeygen(),
		newPlugin(),
		newRevoke(),
		newInspect(),
		newTicket(),
		newDrain(),
		newReleaseClasses(),
		newVersion(),
		newMan(),
	)
	return root
}

// explainValue says what a flag's value must be, in place of what the parser of its type says.
func explainValue(wrong *pflag.InvalidValueError) error {
	must, f := wrong.Unwrap().Error(), wrong.GetFlag()
	switch f.Value.Type() {
	case "duration":
		must = "must be a time, such as 30s, 10m or 2160h"
	case "bool":
		must = "must be true or false"
	case "int":
		must = "must be a whole number"
	case "stringToString":
		must = "must be KEY=VALUE, several with commas between them"
	}
	return usagef("--%s %q: %s", f.Name, wrong.GetValue(), must)
}

// explainServe says who tells of advice, which "limpet serve" has no flag for: its log has what is refused, and
// warnings.
func explainServe(c *cobra.Command, err error) string {
	if wrong := err.Error(); c.Name() == "serve" &&
		(strings.HasSuffix(wrong, " -v") || strings.HasSuffix(wrong, " --verbose")) {
		return "; serve tells of what is refused and of warnings: 'limpet check' tells of advice, too"
	}
	return ""
}

// knownCommand refuses arguments of the root command: they are misspelt commands.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q%s; see 'limpet --help'", args[0], didYouMean(args[0], listCommands(c)))
	}
	return nil
}

// misspeltCommand gives the first argument of the root command if it is no flag: then it is what is wrong, whatever
// flags come after it.
func misspeltCommand(c *cobra.Command) string {
	if args := c.Flags().Args(); !c.HasParent() && len(args) > 0 {
		return args[0]
	}
	return ""
}

// noArgs refuses every argument.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q; see '%s --help'", args[0], c.CommandPath())
	}
	return nil
}
