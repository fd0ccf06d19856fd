package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/internal/message"
)

// flagGroup is flags that belong together, and stand together in --help.
type flagGroup struct {
	title string
	names []string
}

// flagGroups are all flags, in the order in which --help has them.
var flagGroups = []flagGroup{
	{
		"Input",
		strings.Fields(
			"file kustomize namespace controller-name assume-class gateway-api system-namespace bind zone external-names " +
				"share-addresses allow-empty strict-kinds route-budget assume-admitted since at",
		),
	},
	{
		"Output",
		strings.Fields(
			"output report strict fail-on verbose quiet access-log access-log-fields debug-tickets log-format traces-to " +
				"no-sbom version install timeout at-least",
		),
	},
	{"Session keys", strings.Fields("keys root keys-in-clear rotate-keys id add-to overlap expires list retire")},
	{"Target", strings.Fields("target filter filter-path wasm-url istio owner around admin")},
	{
		"Cluster",
		strings.Fields(
			"kubeconfig context all-namespaces write-status programmed-grace address-pool manage-proxies helper-image " +
				"proxy-server proxy-ca infrastructure-keys",
		),
	},
	{
		"Connections and TLS",
		strings.Fields("gateway server listen wasm-listen wasm-server tls-cert tls-key tls-ca tls-names server-name " +
			"trust-domain token-audience token-file probes ack-deadline state-dir insecure"),
	},
}

// mostUsed are the flags that come first, in order: of each command the first six that it has.
var mostUsed = strings.Fields(
	"file target output gateway server keys kubeconfig filter-path strict wasm-url bind listen admin verbose",
)

const (
	mostFirst = 6
	// mostFlat is how many flags need no groups.
	mostFlat = 12
	// mostLines is how long help may be that all is shown of.
	mostLines = 60
)

// registerHelp has all commands print their help so that it fits a screen, and whole with --all.
func registerHelp(root *cobra.Command) {
	usual := root.HelpFunc()
	all := root.PersistentFlags().Bool("all", false, "with --help: all flags, and the whole text")
	_ = root.PersistentFlags().MarkHidden("all")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if *all {
			return usagef("--all needs --help, of which it shows the whole")
		}
		return nil
	}
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c.HasAvailableSubCommands() {
			usual(c, args)
			return
		}
		text := helpOf(c, c.Long, groupFlags)
		if !*all && strings.Count(text, "\n") >= mostLines {
			text = helpOf(c, shorten(c), nameFlags)
		}
		fmt.Fprint(c.OutOrStdout(), text)
	})
}

// helpOf puts the help of a command together.
func helpOf(c *cobra.Command, long string, flags func(*pflag.FlagSet) string) string {
	text := fmt.Sprintf("%s\n\nUsage:\n  %s\n", long, c.UseLine())
	if c.HasExample() {
		text += fmt.Sprintf("\nExamples:\n%s\n", c.Example)
	}
	return text + "\n" + flags(c.LocalFlags())
}

// shorten is the beginning of a command's text.
func shorten(c *cobra.Command) string {
	paragraphs := strings.Split(c.Long, "\n\n")
	n := min(len(paragraphs), 2)
	for n < len(paragraphs) && strings.HasSuffix(paragraphs[n-1], ":") {
		n++
	}
	return strings.Join(paragraphs[:n], "\n\n") +
		fmt.Sprintf("\n\n'%s --help --all' says more, and explains all flags.", c.CommandPath())
}

// groupFlags explains flags: all in a row where they are few, else those that are used most, and the others by groups.
func groupFlags(flags *pflag.FlagSet) string {
	if countFlags(flags) <= mostFlat {
		return "Flags:\n" + flags.FlagUsages()
	}
	first := firstFlags(flags)
	text := explainFlags("Used most", flags, first)
	for _, g := range flagGroups {
		text += explainFlags(g.title, flags, without(g.names, first))
	}
	return strings.TrimPrefix(text, "\n")
}

// nameFlags explains the flags that are used most, and names the others.
func nameFlags(flags *pflag.FlagSet) string {
	first := firstFlags(flags)
	text := strings.TrimPrefix(explainFlags("Used most", flags, first), "\n") + "\n"
	for _, g := range flagGroups {
		var names []string
		for _, name := range without(g.names, first) {
			if flags.Lookup(name) != nil {
				names = append(names, "--"+name)
			}
		}
		if len(names) > 0 {
			text += message.Style{Width: 80}.Wrap(g.title+": "+strings.Join(names, ", ")) + "\n"
		}
	}
	return text
}

// explainFlags explains those of the flags that a command has; empty where it has none.
func explainFlags(title string, flags *pflag.FlagSet, names []string) string {
	group := pflag.NewFlagSet("", pflag.ContinueOnError)
	group.SortFlags = false
	for _, name := range names {
		if f := flags.Lookup(name); f != nil {
			group.AddFlag(f)
		}
	}
	if !group.HasFlags() {
		return ""
	}
	return "\n" + title + ":\n" + group.FlagUsages()
}

// firstFlags are the names of those that are used most.
func firstFlags(flags *pflag.FlagSet) (first []string) {
	for _, name := range mostUsed {
		if len(first) < mostFirst && flags.Lookup(name) != nil {
			first = append(first, name)
		}
	}
	return first
}

func without(names, some []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(some, name) })
}

func countFlags(flags *pflag.FlagSet) (n int) {
	flags.VisitAll(func(*pflag.Flag) { n++ })
	return n
}
