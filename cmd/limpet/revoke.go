package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/internal/inspect"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

const revokeHelp = `revoke prints what ends one session: the part of a SessionPersistencePolicy that
revokes it, made from a token of the session on standard input, in any text as
'limpet inspect' takes it. It changes nothing itself.

The token has to be one of a rule in the input, signed with a key of the ring,
which is that of --keys or in LIMPET_KEYS. Whose it is goes to standard error.
The entry names the session's id, which stays when the session is renewed or
moves, and when the session has ended by its absoluteTimeout, if the entry is
live within an hour: take it out after that. A policy has room for 64.

Exit codes: 0 done, 1 no token of these rules and keys, or none with an id,
2 wrong usage.`

const revokeExamples = `  # the value of the cookie, as a support case has it
  limpet revoke -f gateways/ --keys keys.json < token.txt`

// revokeCommand is "limpet revoke".
type revokeCommand struct {
	input    inputFlags
	target   string
	keysFile string
}

func newRevoke() *cobra.Command {
	var r revokeCommand
	c := &cobra.Command{
		Use:     "revoke -f PATH... [--keys FILE] < TOKEN",
		Short:   "Print what ends one session, from its token",
		Long:    revokeHelp,
		Example: revokeExamples,
		Args:    r.checkFlags,
		RunE:    func(c *cobra.Command, _ []string) error { return r.run(c, time.Now()) },
	}
	r.input.registerForSessions(c.Flags(), "the token is standard input")
	registerTarget(c.Flags(), &r.target, "what the input is compiled for,")
	registerRing(c.Flags(), &r.keysFile)
	return c
}

func (r *revokeCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := checkTarget(r.target); err != nil {
		return err
	}
	return r.input.checkFlags(c, args)
}

func (r *revokeCommand) run(c *cobra.Command, now time.Time) error {
	ring, err := readRing(r.keysFile, c.ErrOrStderr())
	if err != nil {
		return err
	}
	sessions, err := r.input.readSessions(c.InOrStdin(), r.target)
	if err != nil {
		return err
	}
	text, err := readInspected(c.InOrStdin(), "standard input")
	if err != nil {
		return err
	}
	findings, err := inspect.Inspect(text, inspect.Input{Sessions: sessions, Keys: ring, At: now})
	if err != nil {
		return err
	}
	return r.print(c, findings, now)
}

// print prints the entries of the sessions that were found, each once.
func (r *revokeCommand) print(c *cobra.Command, findings []inspect.Finding, now time.Time) error {
	var entries []string
	why := "nothing has its form"
	for _, f := range findings {
		if !f.Verified || f.Policy == nil {
			why = f.Verdicts[0].Outcome
			continue
		}
		p, sess := f.Policy, f.Opened
		message.Printf(
			c.ErrOrStderr(),
			"a session of %s, cookie or header %s, on %s since %s, seen last as far as the token knows at %s",
			p.Name,
			p.SessionName,
			sess.Host,
			formatSeconds(sess.IssuedAt),
			formatSeconds(sess.LastSeen),
		)
		if sess.Parts.ID == 0 {
			return errors.New("the token has no id of the session: use revocation.hosts, notBefore or epoch")
		}
		entry := fmt.Sprintf("  - %q # %s\n", revocationEntry(p, sess, now), message.MakePrintable(p.Name))
		if !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		return fmt.Errorf(
			"standard input: no token of a rule in the input under these keys: %s; 'limpet inspect' says more",
			why,
		)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "revocation:\n  sessions:\n%s", strings.Join(entries, ""))
	return err
}

// registerRing has --keys say where the ring is, for a command that uses it here.
func registerRing(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "keys", "", "`FILE` with the key ring, or a Secret with one (default: the ring in LIMPET_KEYS)")
}

// readRing reads the ring of --keys or of the environment.
func readRing(file string, stderr io.Writer) (ring policyconfig.KeyRing, err error) {
	if file != "" {
		return readKeyFile(file, stderr)
	}
	text := os.Getenv(policyconfig.DefaultKeysEnv)
	if text == "" {
		return ring, usagef("--keys FILE is required where %s is not set", policyconfig.DefaultKeysEnv)
	}
	return keyfile.Parse(policyconfig.DefaultKeysEnv, text)
}

// revocationEntry is the item of revocation.sessions. A session ends at its absoluteTimeout; but one that moves begins
// again, and may do so until the entry is live at every proxy.
func revocationEntry(p *policyconfig.Policy, sess token.Session, now time.Time) string {
	entry := fmt.Sprintf("%016x", sess.Parts.ID)
	if p.AbsoluteTimeout > 0 {
		entry += " until " + formatSeconds(now.Unix()+int64(p.AbsoluteTimeout)+timeToGoLive)
	}
	return entry
}

// timeToGoLive is how long it may take, in seconds, until an entry is live at every proxy.
const timeToGoLive = 3600

func formatSeconds(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }
