package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroups are the groups of flags in --help, in order, and the names that belong to each. What is in none is output.
var flagGroups = []struct {
	title string
	names string
}{
	{"Input", "file kustomize namespace controller-name assume-class strict-kinds allow-empty gateway-api class-policy-namespace " +
		"partial-split assume-admitted bind share-addresses external-names zone route-budget since section at"},
	{"Output", ""},
	{"Session keys", "keys root keys-in-clear keys-secret root-secret rotate-keys id add-to overlap expires list retire"},
	{"Target", "target filter filter-arch wasm-path native-path wasm-url wasm-sha256 owner around envoy " +
		"istio-phase istio-priority istio-fail-strategy istio-root-namespace istio-traffic-extension istio-native-pin"},
	{"Cluster", "kubeconfig context all-namespaces system-namespace address-pool write-status programmed-grace manage-proxies proxy-image " +
		"helper-image proxy-server proxy-wasm-server proxy-ca gateway node"},
	{"Connections and TLS", "listen socket-mode tls-cert tls-key tls-ca client-ca tls-secret tls-names trust-domain token-audience token-file server server-name " +
		"wasm-listen wasm-server admin admin-all probes ack-deadline connection-age traces-to insecure"},
}

// mostUsed are the flags that come first, in order; --help shows them alone where there are more than it has room for.
var mostUsed = []string{"file", "target", "out", "output", "keys", "wasm-url", "bind", "strict", "verbose", "kubeconfig", "wasm-path", "listen"}

// mostFirst is how many come first, and mostShown how many flags --help shows without --all.
const mostFirst, mostShown = 6, 12

// groupFlags gives the flags of a command as --help shows them.
func groupFlags(c *cobra.Command, all bool) string {
	local := c.LocalFlags()
	first := pflag.NewFlagSet("", pflag.ContinueOnError)
	first.SortFlags = false
	for _, name := range mostUsed {
		if f := local.Lookup(name); f != nil && countFlags(first) < mostFirst {
			first.AddFlag(f)
		}
	}
	rest := countFlags(local) - countFlags(first)
	if countFlags(local) <= mostShown {
		local.SortFlags = false
		return "Flags:\n" + local.FlagUsages()
	}
	text := "Flags that are used most:\n" + first.FlagUsages()
	if !all {
		return text + fmt.Sprintf("\n'%s --help --all' has %d more: %s\n", c.CommandPath(), rest, strings.Join(nameGroups(local, first), ", "))
	}
	for i, title := range groupTitles() {
		group := pflag.NewFlagSet("", pflag.ContinueOnError)
		group.SortFlags = false
		local.VisitAll(func(f *pflag.Flag) {
			if groupOf(f.Name) == i && first.Lookup(f.Name) == nil {
				group.AddFlag(f)
			}
		})
		if countFlags(group) > 0 {
			text += "\n" + title + ":\n" + group.FlagUsages()
		}
	}
	return text
}

func groupTitles() (titles []string) {
	for _, g := range flagGroups {
		titles = append(titles, g.title)
	}
	return titles
}

// nameGroups names the groups that have more flags than those that come first.
func nameGroups(local, first *pflag.FlagSet) (names []string) {
	for i, title := range groupTitles() {
		any := false
		local.VisitAll(func(f *pflag.Flag) { any = any || groupOf(f.Name) == i && first.Lookup(f.Name) == nil })
		if any {
			names = append(names, strings.ToLower(title[:1])+title[1:])
		}
	}
	return names
}

// groupOf gives the place of the group that a flag belongs to.
func groupOf(name string) int {
	for i, g := range flagGroups {
		for _, n := range strings.Fields(g.names) {
			if n == name {
				return i
			}
		}
	}
	return 1
}

func countFlags(f *pflag.FlagSet) (n int) {
	f.VisitAll(func(*pflag.Flag) { n++ })
	return n
}

// showHelp is "limpet COMMAND --help", with --all all flags and the whole text, else what fits a screen.
func showHelp(c *cobra.Command, args []string) {
	all := false
	for _, a := range args {
		all = all || a == "--all"
	}
	text := c.Long
	if paragraphs := strings.Split(text, "\n\n"); !all && countFlags(c.LocalFlags()) > mostShown && len(paragraphs) > 2 {
		text = strings.Join(paragraphs[:2], "\n\n") + fmt.Sprintf("\n\n'%s --help --all' says more.", c.CommandPath())
	}
	out := c.OutOrStdout()
	fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n", text, c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", c.Example)
	}
	fmt.Fprintf(out, "\n%s", groupFlags(c, all))
}
