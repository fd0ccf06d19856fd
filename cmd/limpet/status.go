package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/serve"
	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const statusHelp = `status asks 'limpet serve' on this machine which Envoys are connected, which
generation of its Gateway's configuration each has acknowledged, and what it has
rejected. With --kubeconfig or --context, or as 'kubectl limpet status', it asks all
replicas in a cluster, each by a port-forward to the --admin of its Pod, and prints
one after the other. That takes the rights to list pods in limpet's namespace, and to
create and get pods/portforward there.

A generation is a hash of all that is served: an Envoy that shows its Gateway's
has everything. -o wide adds addresses and versions, -o json and -o yaml print all
there is. Keys are shown by fingerprints, which hold nothing of them: Envoys with the
same keys have the same number in their gauge limpet_keys_fingerprint. For a day
after an edit that ended sessions, if limpet serve runs on, the routes are listed
whose they were.

The exit code is 0 when all of the input is in effect and none of it may be old, each
Gateway has an Envoy and every Envoy has everything, else 1. Of several replicas an
Envoy is connected to one.`

// statusCommand is "limpet status".
type statusCommand struct {
	admin, output string
	cluster       replicaFlags
}

func newStatus() *cobra.Command {
	var sc statusCommand
	c := &cobra.Command{
		Use:   "status [-o wide|json|yaml]",
		Short: "Say which Envoys 'limpet serve' serves, and what they have acknowledged",
		Long:  statusHelp,
		Args:  sc.checkFlags,
		RunE:  func(c *cobra.Command, _ []string) error { return sc.run(c.Context(), c.OutOrStdout()) },
	}
	c.Flags().
		StringVar(&sc.admin, "admin", defaultServeAdmin, "`ADDRESS` of --admin of limpet serve, on this machine or in its "+
			"Pods")
	sc.cluster.register(c.Flags())
	c.Flags().StringVarP(&sc.output, "output", "o", "", "how to print: `wide|json|yaml`")
	return c
}

func (sc *statusCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := noArgs(c, args); err != nil {
		return err
	}
	if !isAddrPort(sc.admin) {
		return usagef("--admin %q: must be an IP address and a port, such as %s", sc.admin, defaultServeAdmin)
	}
	if err := sc.cluster.checkFlags(sc.admin); err != nil {
		return err
	}
	switch sc.output {
	case "", "wide", formatJSON, formatYAML:
		return nil
	}
	return usagef("--output %q: must be wide, json or yaml", sc.output)
}

func (sc *statusCommand) run(ctx context.Context, to io.Writer) error {
	if sc.cluster.isWanted() {
		return sc.runInCluster(ctx, to)
	}
	status, err := sc.ask()
	if err != nil {
		return err
	}
	if sc.isForProgram() {
		err = printValue(to, sc.output, status)
	} else {
		err = printStatus(to, status, sc.output == "wide")
	}
	if err == nil && !(serve.Statuses{status}).IsComplete() {
		return errRefused
	}
	return err
}

// isForProgram tells whether all there is is to be printed.
func (sc *statusCommand) isForProgram() bool {
	return sc.output == formatJSON || sc.output == formatYAML
}

func (sc *statusCommand) ask() (status serve.Status, err error) {
	client := &http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get("http://" + sc.admin + "/status")
	if err != nil {
		return status, fmt.Errorf(
			"no limpet serve answers at %s: %w; --admin says where it is, or --kubeconfig in which cluster",
			sc.admin,
			message.Unanswered(err),
		)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return status, fmt.Errorf("%s has no status of limpet serve: it answers %s", sc.admin, answer.Status)
	}
	return status, json.NewDecoder(answer.Body).Decode(&status)
}

// printStatus prints a line for each Envoy, and one for each Gateway without any.
func printStatus(to io.Writer, status serve.Status, wide bool) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	row := func(more []string, columns ...string) {
		if wide {
			columns = append(columns, more...)
		}
		for i, c := range columns {
			if i > 0 {
				fmt.Fprint(table, "\t")
			}
			fmt.Fprint(table, message.MakePrintable(c)) // an Envoy calls itself what it likes
		}
		fmt.Fprintln(table)
	}
	row([]string{"TARGET", "STAGE", "ADDRESS", "VERSION", "IDENTITY"}, "GATEWAY", "ENVOY", "ACKNOWLEDGED", "STATE", "AGE")
	for _, e := range status.Envoys {
		row([]string{e.Target, e.Stage, e.Address, e.Version, e.Identity},
			e.Gateway, e.Node, e.Generation, status.State(e), time.Since(e.Connected).Round(time.Second).String())
	}
	for _, g := range status.Gateways {
		if !status.HasEnvoy(g.Gateway) {
			row([]string{g.Generation, "", "", "", ""}, g.Gateway, "<none>", "", "no Envoy is connected", "")
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := printInput(to, status.Input); err != nil {
		return err
	}
	if err := errors.Join(printRejections(to, status.Envoys), printUnsharded(to, status.Envoys)); err != nil {
		return err
	}
	if status.Keys != nil {
		if err := printKeys(to, status.Keys); err != nil {
			return err
		}
	}
	return printEnded(to, status.Ended)
}

// printEnded prints the routes of which edits have ended sessions.
func printEnded(to io.Writer, ended []serve.EndedStatus) (err error) {
	for _, e := range ended {
		if err == nil {
			_, err = fmt.Fprintf(to, "\n%s, at %s: %s\n", e.Route, e.At.Format(time.RFC3339), message.MakePrintable(e.Words))
		}
	}
	return err
}

// printInput prints what of the input is not in effect.
func printInput(to io.Writer, input serve.InputStatus) error {
	if len(input.Refused) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(to, "\nsome of the input is not in effect since %s; what was good before keeps serving:\n",
		input.Since.Format(time.RFC3339))
	for _, line := range input.Refused {
		if err == nil {
			_, err = fmt.Fprintf(to, "  %s\n", message.MakePrintable(line))
		}
	}
	return err
}

// printKeys prints the fingerprints of the keys that Envoys are served.
func printKeys(to io.Writer, keys *keyfile.Fingerprints) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "\nKEY\tFINGERPRINT")
	for _, k := range keys.Keys {
		fmt.Fprintf(table, "%s\t%s\n", k.ID, k.Fingerprint)
	}
	fmt.Fprintf(table, "all of them\t%s (%s: %d)\n", keys.Ring, policyconfig.KeysGauge, keys.Gauge)
	return table.Flush()
}

// mostNamed is how many Envoys of a kind are named.
const mostNamed = 3

// printUnsharded prints which Envoys have one table of routes for each listener, and why.
func printUnsharded(to io.Writer, envoys []xds.ClientStatus) (err error) {
	nodes := map[string][]string{} // by the reason
	for _, e := range envoys {
		if why, isWhole := strings.CutPrefix(e.Routes, xds.WholeRoutes); isWhole {
			nodes[why] = append(nodes[why], message.MakePrintable(e.Node))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(nodes)) {
		named := nodes[why]
		if more := len(named) - mostNamed; more > 0 {
			named = append(named[:mostNamed:mostNamed], fmt.Sprintf("%d more", more))
		}
		if err == nil {
			_, err = fmt.Fprintf(to, "\nwithout shards, with one table of routes for each listener: %s\n  %s\n",
				strings.Join(named, ", "), message.MakePrintable(why))
		}
	}
	return err
}

// printRejections prints what is wrong with Envoys, and what they say of what they reject.
func printRejections(to io.Writer, envoys []xds.ClientStatus) error {
	for _, e := range envoys {
		if e.Warning != "" {
			if _, err := fmt.Fprintf(to, "\n%s: %s\n", message.MakePrintable(e.Node),
				message.MakePrintable(e.Warning)); err != nil {
				return err
			}
		}
		for _, r := range e.Rejected {
			if _, err := fmt.Fprintf(to, "\n%s rejects %s %s:\n  %s\n",
				message.MakePrintable(e.Node), r.Type, r.Name, message.MakePrintable(serve.ExplainRejection(r))); err != nil {
				return err
			}
		}
	}
	return nil
}
