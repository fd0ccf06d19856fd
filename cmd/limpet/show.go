package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/rollout"
)

const showHelp = `show prints files of a discovery folder as YAML: what 'limpet compile --watch' and
'limpet run --watch' write for Envoy, which reads them as protobuf's bytes (.pb).

Private keys and signing keys are shown as [secret].`

const showExamples = `  # the routes of a listener, with the session policies that travel with them
  limpet show out/discovery/rds/listener_0.0.0.0_80.pb`

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show FILE...",
		Short:   "Print files that Envoy discovers its configuration from, as YAML",
		Long:    showHelp,
		Example: showExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("show needs the path of a file, such as out/discovery/rds/listener_0.0.0.0_80.pb")
			}
			return nil
		},
		RunE: func(c *cobra.Command, files []string) error {
			for _, file := range files {
				if err := showFile(c, file, len(files) > 1); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// showFile prints a file, as one document of several if there are more.
func showFile(c *cobra.Command, file string, several bool) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := rollout.Show(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	head := ""
	if several {
		head = "---\n# " + file + "\n"
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s%s", head, text)
	return err
}
