package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// secretSize is the size of new keys and root secrets in bytes, and the least that is accepted.
const secretSize = 32

const keygenHelp = `keygen prints a new key ring on one line of JSON: one key of 32 random bytes.

The ring goes into the environment of Envoy (LIMPET_KEYS) or into a file for
--keys. All Envoys that serve the same sessions need the same ring. Whoever has
it can make tokens: keep it as you keep passwords.

To change keys without ending a session, use --add-to: it prints the ring in
FILE (- for standard input) with a new key in front. That key verifies at once,
but signs only after --overlap: give the new ring to every Envoy within that
time. Sessions move to the new key as they are used. Take the old key out of
the ring when your longest absoluteTimeout has passed since.

--root prints a root secret instead: for LIMPET_ROOT, under which
'limpet compile --seal-keys' seals rings.`

const keygenExamples = `  export LIMPET_KEYS="$(limpet keygen)"

  # a key file that nobody else can read
  (umask 077; limpet keygen > keys.json)

  # change keys: a new one in front, which signs from ten minutes on
  (umask 077; limpet keygen --add-to keys.json > new.json)
  mv new.json keys.json

  export LIMPET_ROOT="$(limpet keygen --root)"`

// keygenCommand is "limpet keygen".
type keygenCommand struct {
	id      string
	addTo   string
	overlap time.Duration
	root    bool
}

func newKeygen() *cobra.Command {
	var k keygenCommand
	c := &cobra.Command{
		Use:     "keygen",
		Short:   "Print a new key ring, or a root secret",
		Long:    keygenHelp,
		Example: keygenExamples,
		Args:    k.check,
		RunE:    func(c *cobra.Command, _ []string) error { return k.run(c, time.Now()) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&k.id, "id", "", "`ID` of the key (default: today's date, such as 2026-11-21)")
	f.StringVar(&k.addTo, "add-to", "", "print the ring in `FILE` with the new key in front")
	f.DurationVar(&k.overlap, "overlap", 10*time.Minute, "`TIME` until the new key of --add-to signs")
	f.BoolVar(&k.root, "root", false, "print a root secret for LIMPET_ROOT instead of a ring")
	return c
}

// check refuses combinations of flags that mean nothing.
func (k *keygenCommand) check(c *cobra.Command, args []string) error {
	f := c.Flags()
	switch {
	case k.root && (f.Changed("id") || f.Changed("add-to") || f.Changed("overlap")):
		return usagef("--root goes with no other flag")
	case f.Changed("overlap") && k.addTo == "":
		return usagef("--overlap needs --add-to FILE")
	case k.overlap < 0 || k.overlap%time.Second != 0:
		return usagef("--overlap %s: must be whole seconds, 0s or more", k.overlap)
	case f.Changed("id") && checkRing(ringOf(newKey(k.id))) != nil:
		return usagef("--id %q: must be 1 to 64 characters of A-Z a-z 0-9 . _ -", k.id)
	}
	return noArgs(c, args)
}

func (k *keygenCommand) run(c *cobra.Command, now time.Time) error {
	if k.root {
		_, err := fmt.Fprintln(c.OutOrStdout(), base64.RawURLEncoding.EncodeToString(random()))
		return err
	}
	ring, err := k.ring(c, now)
	if err != nil {
		return err
	}
	line, err := ringLine(ring)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", line)
	return err
}

// ring is the ring to print.
func (k *keygenCommand) ring(c *cobra.Command, now time.Time) (policyconfig.KeyRing, error) {
	if k.addTo == "" {
		return ringOf(newKey(k.chooseID(nil, now))), nil
	}
	old, err := k.readOld(c)
	if err != nil {
		return policyconfig.KeyRing{}, err
	}
	key := newKey(k.chooseID(old.Keys, now))
	key.NotBefore = policyconfig.Time(now.Add(k.overlap).Unix())
	ring := ringOf(append([]policyconfig.Key{key}, old.Keys...)...)
	if err := checkRing(ring); err != nil {
		return policyconfig.KeyRing{}, fmt.Errorf("--add-to %s: %w", k.addTo, err)
	}
	return ring, nil
}

// readOld reads the ring of --add-to.
func (k *keygenCommand) readOld(c *cobra.Command) (policyconfig.KeyRing, error) {
	if k.addTo == "-" {
		return readRing("standard input", c.InOrStdin())
	}
	return readKeyFile(c.ErrOrStderr(), k.addTo)
}

// chooseID is the id asked for, or today's date; with -2, -3 and so on when the ring has had that already.
func (k *keygenCommand) chooseID(taken []policyconfig.Key, now time.Time) string {
	if k.id != "" {
		return k.id
	}
	today := now.UTC().Format(time.DateOnly)
	id := today
	for n := 2; slices.ContainsFunc(taken, func(key policyconfig.Key) bool { return key.ID == id }); n++ {
		id = fmt.Sprintf("%s-%d", today, n)
	}
	return id
}

// newKey makes a key of fresh random bytes that may sign and verify for ever.
func newKey(id string) policyconfig.Key {
	return policyconfig.Key{ID: id, Secret: random()}
}

func ringOf(keys ...policyconfig.Key) policyconfig.KeyRing {
	return policyconfig.KeyRing{Keys: keys}
}

// random is secretSize bytes from the system's generator, which never fails (crypto/rand.Read).
func random() []byte {
	b := make([]byte, secretSize)
	_, _ = rand.Read(b)
	return b
}
