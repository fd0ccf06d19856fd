package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

const ticketHelp = `ticket prints a ticket: a request that carries it in the header ` + policyconfig.TicketHeader + `
is told in the header ` + policyconfig.AnswerHeader + ` of its response what became of its session,
where the proxies were compiled with --debug-tickets.

A ticket is good for the sessions of one scope, for ten minutes, and for nothing
else; it is signed with the key of the ring that signs now, which is that of
--keys or in LIMPET_KEYS. The scope is that of a rule, as 'limpet describe'
shows it.

Exit codes: 0 done, 1 no key signs now, 2 wrong usage.`

const ticketExamples = `  # what becomes of the session of one's own browser
  curl -b "cart=$COOKIE" -sD- -o/dev/null https://shop.example.com/cart \
    -H "` + policyconfig.TicketHeader + `: $(limpet ticket --keys keys.json HTTPRoute/shop/cart/rule/checkout)"`

// ticketCommand is "limpet ticket".
type ticketCommand struct{ keysFile string }

func newTicket() *cobra.Command {
	var tc ticketCommand
	c := &cobra.Command{
		Use:     "ticket [--keys FILE] SCOPE",
		Short:   "Print a ticket with which requests are told of their session",
		Long:    ticketHelp,
		Example: ticketExamples,
		Args:    checkScope,
		RunE:    func(c *cobra.Command, args []string) error { return tc.run(c, args[0], time.Now()) },
	}
	registerRing(c.Flags(), &tc.keysFile)
	return c
}

func checkScope(c *cobra.Command, args []string) error {
	switch {
	case len(args) != 1:
		return usagef("one SCOPE is required; see '%s --help'", c.CommandPath())
	case args[0] == "" || len(args[0]) > policyconfig.MaxScope:
		return usagef("SCOPE: must be 1 to %d characters", policyconfig.MaxScope)
	}
	return nil
}

func (tc *ticketCommand) run(c *cobra.Command, scope string, now time.Time) error {
	keys, err := readRing(tc.keysFile, c.ErrOrStderr())
	if err != nil {
		return err
	}
	ring, err := keyfile.Ring(keys)
	if err != nil {
		return err
	}
	ends := now.Unix() + token.TicketLife
	ticket, err := ring.Scope(scope).AppendTicket(nil, now.Unix(), ends)
	if err != nil {
		return err
	}
	message.Printf(c.ErrOrStderr(), "for sessions of %s until %s", scope, formatSeconds(ends))
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", ticket)
	return err
}
