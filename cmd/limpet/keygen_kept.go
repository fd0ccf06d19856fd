package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
)

// checkKept refuses flags that make something next to --list and --retire, which are about a ring that is kept.
func (k *keygenCommand) checkKept(c *cobra.Command) error {
	f := c.Flags()
	makes := k.root || k.addTo != "" || f.Changed("id") || f.Changed("overlap") || f.Changed("expires")
	switch {
	case k.list && f.Changed("retire"):
		return usagef("--list and --retire: name one of the two")
	case (k.list || f.Changed("retire")) && makes:
		return usagef("--list and --retire make no key: leave --id, --add-to, --overlap, --expires and --root out")
	case k.list && k.output != "":
		return usagef("--list prints no secret: leave --output out")
	case f.Changed("retire") && k.retire == "":
		return usagef("--retire: name the ID of a key; --list says which there are")
	case !k.list && !f.Changed("retire") && k.keysFile != "":
		return usagef("--keys needs --list or --retire")
	}
	return nil
}

// printList prints the keys, by what tells them from others, and what each is for now.
func (k *keygenCommand) printList(c *cobra.Command, now time.Time) error {
	ring, err := readRing(k.keysFile, c.ErrOrStderr())
	if err != nil {
		return err
	}
	prints, err := keyfile.FingerprintsOf(ring)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "KEY\tFINGERPRINT\tSTATE\tSIGNS FROM\tVERIFIES UNTIL")
	for i, state := range keyfile.States(ring, now) {
		key := &ring.Keys[i]
		from, until := "-", "-"
		if key.NotBefore != 0 {
			from = key.NotBefore.String()
		}
		if end := ring.EndOf(key); end != 0 {
			until = end.String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", key.ID, prints.Keys[i].Fingerprint, state, from, until)
	}
	return table.Flush()
}

// writeRetired writes the ring without a key.
func (k *keygenCommand) writeRetired(c *cobra.Command, now time.Time) error {
	ring, err := readRing(k.keysFile, c.ErrOrStderr())
	if err != nil {
		return err
	}
	rest, err := keyfile.Retire(ring, k.retire, now)
	if err != nil {
		return err
	}
	message.Printf(c.ErrOrStderr(), "sessions end that key %s alone has signed, once Envoys have this ring", k.retire)
	return k.writeRing(c, rest)
}
