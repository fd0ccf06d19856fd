package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/suggest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

const ticketHelp = `ticket prints a ticket: a request that carries it in the header ` + policyconfig.TicketHeader + `
is told in the header ` + policyconfig.AnswerHeader + ` of its response what became of its session,
where the proxies were compiled with --debug-tickets.

A ticket is good for the sessions of one scope, for ten minutes, and for nothing
else; it is signed with the key of the ring that signs now, which is that of
--keys or in LIMPET_KEYS. The scope is that of a rule, as 'limpet describe'
shows it; with -f it has to be that of a rule in the input.

Exit codes: 0 done, 1 no key signs now, or no such scope, 2 wrong usage.`

const ticketExamples = `  # what becomes of the session of one's own browser
  curl -b "cart=$COOKIE" -sD- -o/dev/null https://shop.example.com/cart \
    -H "` + policyconfig.TicketHeader + `: $(limpet ticket --keys keys.json HTTPRoute/shop/cart/rule/checkout)"`

// ticketCommand is "limpet ticket".
type ticketCommand struct {
	input    inputFlags
	keysFile string
}

func newTicket() *cobra.Command {
	var tc ticketCommand
	c := &cobra.Command{
		Use:     "ticket [--keys FILE] [-f PATH...] SCOPE",
		Short:   "Print a ticket with which requests are told of their session",
		Long:    ticketHelp,
		Example: ticketExamples,
		Args:    tc.checkFlags,
		RunE:    func(c *cobra.Command, args []string) error { return tc.run(c, args[0], time.Now()) },
	}
	tc.input.registerForSessions(c.Flags(), "the scope is the argument")
	forgetBareFiles(c.Flags())
	registerRing(c.Flags(), &tc.keysFile)
	return c
}

func (tc *ticketCommand) checkFlags(c *cobra.Command, args []string) error {
	switch {
	case len(args) != 1:
		return usagef("one SCOPE is required; see '%s --help'", c.CommandPath())
	case args[0] == "" || len(args[0]) > policyconfig.MaxScope:
		return usagef("SCOPE: must be 1 to %d characters", policyconfig.MaxScope)
	}
	if why := explainScope(args[0]); why != "" {
		return usagef("SCOPE %q: %s", args[0], why)
	}
	if !tc.input.isNamed() {
		return nil
	}
	return tc.input.checkFlags(c, nil)
}

// scopeKinds are those of routes, with which the scopes of their rules begin.
var scopeKinds = append([]string{"HTTPProxy"}, object.RouteKinds...)

// explainScope says why a text can't be the scope of a session; empty if it can. A scope without a slash may be of a
// plugin configuration written by hand. One of the greatest length was cut, so its parts can't be checked.
func explainScope(scope string) string {
	parts := strings.Split(scope, "/")
	isKind := slices.Contains(scopeKinds, parts[0])
	like := slices.IndexFunc(scopeKinds, func(k string) bool { return strings.EqualFold(k, parts[0]) })
	const form = "a rule's scope is KIND/NAMESPACE/ROUTE/rule/NAME, or KIND/NAMESPACE/ROUTE/matches/DIGEST for a rule " +
		"without a name, or KIND/NAMESPACE/ROUTE with scope: Route; 'limpet describe' shows it"
	switch {
	case strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "must be visible characters of ASCII"
	case len(parts) == 1 || len(scope) == policyconfig.MaxScope || parts[0] == "XBackend" && len(parts) == 3:
		return ""
	case !isKind && like >= 0:
		return fmt.Sprintf("did you mean %s/%s? %s", scopeKinds[like], strings.Join(parts[1:], "/"), form)
	case !isKind && len(parts) == 4 && parts[2] == "rule":
		return fmt.Sprintf("is a policy's name; did you mean HTTPRoute/%s? %s", scope, form)
	case !isKind || !namesRules(parts):
		return form
	default:
		return ""
	}
}

// namesRules tells whether a scope that begins with a route's kind is that of a rule, or of rules that share their
// sessions.
func namesRules(parts []string) bool {
	of := ""
	if len(parts) > 3 {
		of = parts[3]
	}
	switch of {
	case "rule", "matches":
		return len(parts) >= 5 && !slices.Contains(parts, "")
	case "backend": // of all rules, in this one (S22)
		return len(parts) == 8 && !slices.Contains(parts, "")
	}
	return len(parts) == 3 && !slices.Contains(parts, "")
}

// findScope returns an error unless a session of the input has the scope.
func (tc *ticketCommand) findScope(c *cobra.Command, scope string) error {
	sessions, err := tc.input.readSessions(c.InOrStdin(), string(compiler.TargetEnvoy))
	if err != nil {
		return err
	}
	var scopes []string
	for _, p := range sessions.Policies {
		scopes = append(scopes, p.Scope)
	}
	slices.Sort(scopes)
	if scopes = slices.Compact(scopes); slices.Contains(scopes, scope) {
		return nil
	}
	if near := suggest.DidYouMean(scope, scopes); near != "" {
		return fmt.Errorf("no session of the input has the scope %s%s", scope, near)
	}
	return fmt.Errorf("no session of the input has the scope %s; they have: %s", scope,
		cmp.Or(strings.Join(scopes[:min(len(scopes), maxScopes)], ", "), "none"))
}

// doubt says that no rule was looked up, where no input is named, or that nobody answers the ticket.
func (tc *ticketCommand) doubt() string {
	switch has := tc.input.listing.reading; {
	case !tc.input.isNamed():
		return "; whether a rule has this scope is not looked at: name the rules with -f"
	case has != nil && !has.Options.DebugTickets:
		return "; 'limpet serve' was started without --debug-tickets: its Envoys do not answer it"
	}
	return ""
}

// maxScopes is how many scopes a message lists.
const maxScopes = 20

func (tc *ticketCommand) run(c *cobra.Command, scope string, now time.Time) error {
	if tc.input.isNamed() {
		if err := tc.findScope(c, scope); err != nil {
			return err
		}
	}
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
	message.Printf(c.ErrOrStderr(), "for sessions of %s until %s%s", scope, formatSeconds(ends), tc.doubt())
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", ticket)
	return err
}
