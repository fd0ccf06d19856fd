package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const keygenHelp = `keygen prints a new key ring on one line of JSON: one key of 32 random bytes.

The ring goes into the environment of Envoy (LIMPET_KEYS) or into a file for
--keys. All Envoys that serve the same sessions need the same ring. Whoever has
it can make tokens: keep it as you keep passwords.

To change keys without ending a session, use --add-to: it prints the ring in
FILE (- for standard input) with a new key in front. That key verifies at once,
but signs only after --overlap: give the new ring to every Envoy within that
time. Sessions move to the new key as they are used. Take the old key out of
the ring when your longest absoluteTimeout has passed since.

-o writes FILE instead, whole or not at all, so that none but you can read it.
An existing one is replaced where --add-to names it, and by nothing else.

--root prints a root secret instead: for LIMPET_ROOT, under which
'limpet compile --seal-keys' seals rings.`

const keygenExamples = `  export LIMPET_KEYS="$(limpet keygen)"

  # a key file that only you can read
  limpet keygen -o keys.json

  # change keys: a new one in front, which signs from ten minutes on
  limpet keygen --add-to keys.json -o keys.json

  export LIMPET_ROOT="$(limpet keygen --root)"`

// keygenCommand is "limpet keygen".
type keygenCommand struct {
	id      string
	addTo   string
	overlap time.Duration
	root    bool
	output  string
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
	f.StringVarP(&k.output, "output", "o", "", "write `FILE`, which only its owner can read, instead of printing")
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
	case f.Changed("id") && keyfile.Check(keyfile.NewRing(k.id)) != nil:
		return usagef("--id %q: must be 1 to 64 characters of A-Z a-z 0-9 . _ -", k.id)
	}
	return noArgs(c, args)
}

func (k *keygenCommand) run(c *cobra.Command, now time.Time) error {
	if k.root {
		return k.write(c, keyfile.NewRoot()+"\n")
	}
	ring, err := k.makeRing(c, now)
	if err != nil {
		return err
	}
	line, err := keyfile.Marshal(ring)
	if err != nil {
		return err
	}
	return k.write(c, string(line)+"\n")
}

// write prints a secret, or writes it into the file of -o. Another ring's file stays: all sessions would end with it.
func (k *keygenCommand) write(c *cobra.Command, text string) error {
	if k.output == "" {
		_, err := io.WriteString(c.OutOrStdout(), text)
		return err
	}
	if _, err := os.Lstat(k.output); err == nil && k.output != k.addTo {
		return fmt.Errorf("%s is there already, and what it holds would be lost; "+
			"--add-to %[1]s -o %[1]s puts a new key in front of a ring", k.output)
	}
	return atomicfile.Write(k.output, []byte(text), 0o600)
}

// makeRing makes a ring of one key, or that of --add-to with a new one in front.
func (k *keygenCommand) makeRing(c *cobra.Command, now time.Time) (policyconfig.KeyRing, error) {
	if k.addTo == "" {
		return keyfile.NewRing(k.chooseID(policyconfig.KeyRing{}, now)), nil
	}
	old, err := k.readOld(c)
	if err != nil {
		return policyconfig.KeyRing{}, err
	}
	ring, err := keyfile.AddKey(old, k.chooseID(old, now), now.Add(k.overlap))
	if err != nil {
		return policyconfig.KeyRing{}, fmt.Errorf("--add-to %s: %w", k.addTo, err)
	}
	return ring, nil
}

// readOld reads the ring of --add-to.
func (k *keygenCommand) readOld(c *cobra.Command) (policyconfig.KeyRing, error) {
	if k.addTo == inputfiles.Stdin {
		return keyfile.ReadFrom("standard input", c.InOrStdin())
	}
	return readKeyFile(k.addTo, c.ErrOrStderr())
}

// chooseID gives the id asked for, or one that the ring has not had.
func (k *keygenCommand) chooseID(ring policyconfig.KeyRing, now time.Time) string {
	if k.id != "" {
		return k.id
	}
	return keyfile.ChooseID(ring, now)
}
