package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/plugincheck"
)

const pluginHelp = `plugin is for configurations of limpet's filter that are written by hand, for an
Envoy of your own or for Istio.`

func newPlugin() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Check a filter's configuration that is written by hand, and seal its keys",
		Long:  pluginHelp,
		Args:  knownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			return usagef("say what to do: check or seal; '%s --help' explains them", c.CommandPath())
		},
	}
	c.AddCommand(newPluginCheck(), newPluginSeal())
	return c
}

const pluginCheckHelp = `check says what is wrong with a filter's configuration, and around it.

FILE is the plugin's JSON; an Envoy bootstrap, a listener, a route configuration
or a filter that Envoy discovers; or a WasmPlugin with its EnvoyFilters. Several
belong together: what one mentions is looked for in all.

Of the JSON it says all that the filter would say when it loads it, and of the key
ring too where its variable (LIMPET_KEYS, LIMPET_ROOT) is in the environment. Around it,
it looks at the order of the filters, the fence, pinHeader in all of its places,
listeners where limpet is missing, the names of routes, of clusters and of routes'
settings, filters that are off, strictness and retries with onHostLost Fail, splits over
clusters, cookies that policies share, and the variables of the VM; on Istio at
namespaces, labels and contexts too. All of that Envoy takes without a word. What Envoy itself refuses, 'envoy --mode validate'
says.

Each mistake is a line on standard output: FILE:LINE: FIELD: what is wrong.

Exit codes: 0 none found, 1 some found, or nothing of limpet's in the input, 2 wrong
usage.`

const pluginCheckExamples = `  limpet plugin check plugin.json

  # a bootstrap, and the routes that it discovers
  limpet plugin check envoy.yaml routes.yaml

  # for Istio
  limpet plugin check wasmplugin.yaml envoyfilter.yaml`

func newPluginCheck() *cobra.Command {
	return &cobra.Command{
		Use:     "check FILE...",
		Short:   "Say what is wrong with a filter's configuration, and around it",
		Long:    pluginCheckHelp,
		Example: pluginCheckExamples,
		Args:    needsFiles,
		RunE:    checkPlugin,
	}
}

func needsFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("FILE is required; see '%s --help'", c.CommandPath())
	}
	return nil
}

func checkPlugin(c *cobra.Command, paths []string) error {
	sources, err := inputfiles.Read(paths, c.InOrStdin())
	if err != nil {
		return err
	}
	var files []plugincheck.File
	for _, s := range sources {
		files = append(files, plugincheck.File{Name: s.Name, Data: s.Data})
	}
	result, err := plugincheck.Check(files, os.Getenv)
	if err != nil {
		return err
	}
	for _, p := range result.Problems {
		if _, err := fmt.Fprintln(c.OutOrStdout(), p); err != nil {
			return err
		}
	}
	for _, what := range result.Unseen {
		message.Printf(c.ErrOrStderr(), "not in the input, so not checked: %s", what)
	}
	message.Printf(c.ErrOrStderr(), "%s in %s with %s", message.Plural(len(result.Problems), "mistake"),
		message.Plural(result.Plugins, "configuration"), pluralPolicies(result.Policies))
	if len(result.Problems) > 0 {
		return errRefused
	}
	return nil
}

func pluralPolicies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return fmt.Sprintf("%d policies", n)
}

const pluginSealHelp = `seal prints a key ring, encrypted under a root secret: the value of keys.sealed in a
plugin's configuration. Envoys with the root secret in LIMPET_ROOT open it; whoever
reads their configuration does not.

A new ring, sealed, is a change of configuration: one that Envoy discovers it takes
over while it runs.

Exit codes: 0 done, 1 no ring or no root secret, 2 wrong usage.`

const pluginSealExamples = `  limpet keygen -o keys.json
  limpet keygen --root -o root.txt
  limpet plugin seal --keys keys.json --root root.txt`

func newPluginSeal() *cobra.Command {
	keys := &keyFlags{anyTarget: true}
	c := &cobra.Command{
		Use:     "seal --keys FILE [--root FILE]",
		Short:   "Seal a key ring for a plugin's configuration",
		Long:    pluginSealHelp,
		Example: pluginSealExamples,
		Args: func(c *cobra.Command, args []string) error {
			if keys.file == "" {
				return usagef("--keys FILE is required; see '%s --help'", c.CommandPath())
			}
			return noArgs(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error { return seal(c.OutOrStdout(), c.ErrOrStderr(), keys) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&keys.file, "keys", "", "`FILE` with the key ring, or a Secret with one")
	f.StringVar(&keys.rootFile, "root", "", "`FILE` with the root secret (default: that in LIMPET_ROOT)")
	return c
}

func seal(stdout, stderr io.Writer, keys *keyFlags) error {
	in, err := keys.load(stderr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, in.Keys.Sealed)
	return err
}
