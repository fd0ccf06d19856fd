package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

const revokeHelp = `revoke prints what ends one session: the part of a SessionPersistencePolicy that
revokes it, made from a token of the session on standard input. It changes
nothing itself.

The token has to be one of a rule in the input, signed with a key of the ring,
which is that of --keys or in LIMPET_KEYS. What it says goes to standard error.
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
		Args:    r.check,
		RunE:    func(c *cobra.Command, _ []string) error { return r.run(c, time.Now()) },
	}
	r.input.register(c)
	registerTarget(c.Flags(), &r.target, "what the input is compiled for,")
	registerRing(c.Flags(), &r.keysFile)
	return c
}

func (r *revokeCommand) check(c *cobra.Command, args []string) error {
	if err := checkTarget(r.target); err != nil {
		return err
	}
	return r.input.check(c, args)
}

func (r *revokeCommand) run(c *cobra.Command, now time.Time) error {
	ring, err := readRing(r.keysFile, c.ErrOrStderr())
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(c.InOrStdin(), maxTokenInput))
	if err != nil {
		return err
	}
	sources, err := r.input.readSources(c.InOrStdin())
	if err != nil {
		return err
	}
	policies, err := compiler.SessionPolicies(sources, r.input.checkOptions(r.target))
	if err != nil {
		return err
	}
	policy, sess, err := findSession(ring, policies, cutToken(string(text)), now.Unix())
	if err != nil {
		return err
	}
	message.Printf(c.ErrOrStderr(), "a session of %s, cookie or header %s, on %s since %s, seen last as far as the token knows at %s",
		policy.Name, policy.SessionName, sess.Host, formatSeconds(sess.IssuedAt), formatSeconds(sess.LastSeen))
	if sess.Parts.ID == 0 {
		return errors.New("the token has no id of the session: use revocation.hosts, notBefore or epoch")
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "revocation:\n  sessions:\n  - %q\n", revocationEntry(policy, sess, now))
	return err
}

// maxTokenInput is more than a token or an envelope, and what stands around it, take.
const maxTokenInput = 2 * token.MaxEnvelope

// cutToken gives the token of a cookie, as it was copied: alone or in its envelope, with white space around it or the
// cookie's name in front, for no token has an equals sign.
func cutToken(text string) string {
	text = strings.TrimSpace(text)
	if _, value, named := strings.Cut(text, "="); named {
		text = value
	}
	if tok, _, wrapped := token.CutEnvelope(text); wrapped {
		return tok
	}
	return text
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

// findSession finds the policy whose token a text is.
func findSession(
	keys policyconfig.KeyRing, policies []policyconfig.Policy, text string, now int64,
) (*policyconfig.Policy, token.Session, error) {
	ring, err := keyfile.Ring(keys)
	if err != nil {
		return nil, token.Session{}, err
	}
	verdict := token.Malformed
	for i := range policies {
		sess, v := ring.Scope(policies[i].Scope).Open(text, now)
		if v == token.Valid {
			return &policies[i], sess, nil
		}
		if verdict == token.Malformed || v == token.BadSignature {
			verdict = v
		}
	}
	return nil, token.Session{}, fmt.Errorf("standard input: no token of a rule in the input under these keys: %s", verdict)
}

// revocationEntry is the item of revocation.sessions. A session ends at its absoluteTimeout; but one that moves begins anew,
// and may do so until the entry is live at every proxy.
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
