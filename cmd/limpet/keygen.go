package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

const keygenHelp = `keygen prints a new key ring on one line of JSON: one key of 32 random bytes.

The ring goes into the environment of Envoy (LIMPET_KEYS) or into a file for
--keys. All Envoys that serve the same sessions need the same ring. Whoever has
it can make tokens: keep it as you keep passwords.

To change keys without ending a session, use --add-to: it prints the ring in
FILE (- for standard input) with a new key in front. That key verifies at once,
but signs only after --overlap: give the new ring to every Envoy within that
time. Sessions move to the new key as they are used. When your longest
absoluteTimeout has passed since, --retire ID takes the old key out of the ring of
--keys; sessions that it alone has signed end. --list says which keys that ring has,
and what each is for now.

-o writes FILE instead, whole or not at all, so that none but you can read it.
An existing one is replaced where --add-to names it, and by nothing else.

--expires gives the ring an end: an old copy of it, sealed or not, is good for
nothing from then on, and neither is the ring. With --add-to the end moves.

--root prints a root secret instead, under which rings are sealed: for --root of
'limpet compile', and for the environment of Envoy (LIMPET_ROOT). It is for one
target, that of -t. To change it, --root --add-to FILE prints it with a new one in
front: give both to all Envoys first, and then to limpet, which seals under the
first.`

const keygenExamples = `  export LIMPET_KEYS="$(limpet keygen)"

  # a key file that only you can read
  limpet keygen -o keys.json

  # change keys: a new one in front, which signs from ten minutes on
  limpet keygen --add-to keys.json -o keys.json

  # which keys there are, and the oldest out
  limpet keygen --list --keys keys.json
  limpet keygen --retire 2026-11-21-9f03ac --keys keys.json -o keys.json

  # a root secret for Envoy Gateway's proxies
  limpet keygen --root -t envoy-gateway -o root.txt`

// keygenCommand is "limpet keygen".
type keygenCommand struct {
	id      string
	addTo   string
	overlap time.Duration
	expires time.Duration
	root    bool
	target  string
	output  string
	// list and retire are about the ring of keysFile.
	list     bool
	retire   string
	keysFile string
}

func newKeygen() *cobra.Command {
	var k keygenCommand
	c := &cobra.Command{
		Use:     "keygen",
		Short:   "Make key rings and root secrets, and say which keys a ring has",
		Long:    keygenHelp,
		Example: keygenExamples,
		Args:    k.checkFlags,
		RunE:    func(c *cobra.Command, _ []string) error { return k.run(c, time.Now()) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&k.id, "id", "", "`ID` of the key (default: today's date and a random part, such as 2026-11-21-9f03ac)")
	f.StringVar(&k.addTo, "add-to", "", "print the ring in `FILE` with the new key in front")
	f.DurationVar(&k.overlap, "overlap", 10*time.Minute, "`TIME` until the new key of --add-to signs")
	f.DurationVar(&k.expires, "expires", 0, "end the whole ring after this `TIME`, such as 2160h (default: never)")
	f.BoolVar(&k.list, "list", false, "list the keys of the ring of --keys")
	f.StringVar(&k.retire, "retire", "", "print the ring of --keys without the key of that `ID`")
	registerRing(f, &k.keysFile)
	f.StringVarP(&k.output, "output", "o", "", "write `FILE`, which only its owner can read, instead of printing")
	f.BoolVar(&k.root, "root", false, "print a root secret instead of a ring")
	registerTarget(f, &k.target, "with --root: whom it is for,")
	return c
}

// checkFlags refuses combinations of flags that mean nothing.
func (k *keygenCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := cmp.Or(k.checkRoot(c), k.checkKept(c)); err != nil {
		return err
	}
	f := c.Flags()
	switch {
	case f.Changed("overlap") && k.addTo == "":
		return usagef("--overlap needs --add-to FILE")
	case k.overlap < 0 || k.overlap%time.Second != 0:
		return usagef("--overlap %s: must be whole seconds, 0s or more", k.overlap)
	case k.expires < 0 || k.expires%time.Second != 0 || f.Changed("expires") && k.expires <= k.overlap:
		return usagef("--expires %s: must be whole seconds, and more than --overlap", k.expires)
	case f.Changed("id") && keyfile.Check(keyfile.NewRing(k.id)) != nil:
		return usagef("--id %q: must be 1 to 64 characters of A-Z a-z 0-9 . _ -", k.id)
	}
	return noArgs(c, args)
}

// checkRoot refuses flags of rings next to --root, and its own without.
func (k *keygenCommand) checkRoot(c *cobra.Command) error {
	f := c.Flags()
	switch {
	case k.root && (f.Changed("id") || f.Changed("overlap") || f.Changed("expires")):
		return usagef("--root makes no key: leave --id, --overlap and --expires out")
	case k.root && k.addTo != "" && f.Changed("target"):
		return usagef("--target is that of the root secret in %s: leave it out", k.addTo)
	case !k.root && f.Changed("target"):
		return usagef("--target needs --root")
	}
	return checkTarget(k.target)
}

func (k *keygenCommand) run(c *cobra.Command, now time.Time) error {
	switch {
	case k.root:
		return k.writeRoot(c)
	case k.list:
		return k.printList(c, now)
	case k.retire != "":
		return k.writeRetired(c, now)
	}
	ring, err := k.makeRing(c, now)
	if err != nil {
		return err
	}
	if k.expires > 0 {
		ring.NotAfter = policyconfig.Time(now.Add(k.expires).Unix())
	}
	return k.writeRing(c, ring)
}

func (k *keygenCommand) writeRing(c *cobra.Command, ring policyconfig.KeyRing) error {
	line, err := keyfile.Marshal(ring)
	if err != nil {
		return err
	}
	return k.write(c, string(line)+"\n")
}

// writeRoot writes a root secret, in front of that of --add-to.
func (k *keygenCommand) writeRoot(c *cobra.Command) error {
	roots := []token.Root{keyfile.NewRoot(k.target)}
	if k.addTo != "" {
		old, err := (&keyFlags{rootFile: k.addTo}).readRoots(c.ErrOrStderr())
		if err != nil {
			return err
		}
		roots = keyfile.AddRoot(old)
	}
	return k.write(c, keyfile.RootsText(roots)+"\n")
}

// write prints a secret, or writes it into the file of -o. Another ring's file stays: all sessions would end with it.
func (k *keygenCommand) write(c *cobra.Command, text string) error {
	if k.output == "" {
		_, err := io.WriteString(c.OutOrStdout(), text)
		return err
	}
	if _, err := os.Lstat(k.output); err == nil && k.output != k.addTo && k.output != k.keysFile {
		return fmt.Errorf("%s is there already, and what it holds would be lost; "+
			"--add-to %[1]s -o %[1]s puts a new key in front of a ring", k.output)
	}
	if err := atomicfile.Write(k.output, []byte(text), 0o600); err != nil {
		return err
	}
	if warning := keyfile.WarnOfFolder(k.output); warning != "" {
		message.PrintWarning(c.ErrOrStderr(), warning)
	}
	return nil
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
	if old.NotAfter != 0 && k.expires == 0 {
		return policyconfig.KeyRing{}, usagef(
			"--add-to %s: the ring ends at %s: name the new one's end with --expires",
			k.addTo,
			old.NotAfter,
		)
	}
	old.NotAfter = 0 // --expires says again
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
