package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// keyFlags say where the key ring comes from, and whether it is sealed.
type keyFlags struct {
	file     string
	secret   string // of limpet's namespace, in place of a file; of "limpet serve" alone
	rootFile string
	clear    bool // of "limpet compile" alone
	// scoped has each Gateway's proxies get the keys of the scopes that it serves, in place of the ring.
	scoped bool
	// target is whom the output is for; empty is Envoy.
	target string
	// anyTarget takes the first root secret, whatever its target.
	anyTarget bool
	// ring, if there is one, gives the key ring in place of a file.
	ring func() policyconfig.KeyRing
	// fixed are root secrets that stay while this process runs: those of an Envoy that it starts, or a Secret's; nil reads
	// them each time.
	fixed []token.Root
}

func (k *keyFlags) register(f *pflag.FlagSet) {
	f.StringVar(&k.file, "keys", "",
		"`FILE` with the key ring, or a Secret with one, to put into the\n"+
			"configuration, sealed (default: Envoy reads the ring in LIMPET_KEYS)")
}

func (k *keyFlags) registerRoot(f *pflag.FlagSet) {
	f.StringVar(&k.rootFile, "root", "",
		"`FILE` with the root secret under which the ring of --keys is sealed\n(default: that in LIMPET_ROOT)")
}

func (k *keyFlags) registerClear(f *pflag.FlagSet) {
	f.BoolVar(&k.clear, "keys-in-clear", false, "leave the ring of --keys readable for all who see the configuration")
}

func (k *keyFlags) checkFlags() error {
	switch {
	case k.file == "" && k.secret == "" && k.rootFile != "":
		return usagef("--root needs --keys FILE")
	case k.file == "" && k.clear:
		return usagef("--keys-in-clear needs --keys FILE")
	case k.clear && k.rootFile != "":
		return usagef("--root and --keys-in-clear: name one of the two")
	}
	return nil
}

// load makes the plugin configuration's keys.
func (k *keyFlags) load(stderr io.Writer) (in controller.Input, err error) {
	if k.ring == nil && k.file == "" {
		return controller.Input{Keys: policyconfig.Keys{FromEnv: policyconfig.DefaultKeysEnv}}, nil
	}
	ring, err := k.readRing(stderr)
	if err != nil {
		return in, err
	}
	in.Ring = ring
	if in.Fingerprints, err = keyfile.FingerprintsOf(ring); err != nil {
		return in, err
	}
	if k.clear {
		in.Keys.Ring = &ring
		return in, nil
	}
	root, err := k.sealingRoot(stderr)
	if err != nil {
		return in, err
	}
	if k.scoped {
		in.Scopes, err = newScopeKeys(ring, root)
	} else {
		in.Keys.Sealed, err = keyfile.Seal(ring, root)
	}
	return in, err
}

// newScopeKeys makes the scope keys that proxies get in place of the ring.
func newScopeKeys(keys policyconfig.KeyRing, root *token.Root) (*compiler.ScopeKeys, error) {
	ring, err := keyfile.Ring(keys)
	if err != nil {
		return nil, err
	}
	return &compiler.ScopeKeys{Ring: ring, Root: *root}, nil
}

// sealingRoot is the root secret that seals for Envoys of the target.
func (k *keyFlags) sealingRoot(stderr io.Writer) (*token.Root, error) {
	roots := k.fixed
	if roots == nil {
		var err error
		if roots, err = k.readRoots(stderr); err != nil {
			return nil, err
		}
	}
	if k.anyTarget {
		return &roots[0], nil
	}
	return keyfile.RootFor(cmp.Or(k.target, string(compiler.TargetEnvoy)), roots)
}

// readRing returns the followed ring, or reads the file's, of which some key must verify.
func (k *keyFlags) readRing(stderr io.Writer) (policyconfig.KeyRing, error) {
	if k.ring != nil {
		return k.ring(), nil
	}
	ring, err := readKeyFile(k.file, stderr)
	if err != nil {
		return ring, err
	}
	if err := keyfile.CheckNotExpired(ring, time.Now()); err != nil {
		return ring, fmt.Errorf("%s: %w", k.file, err)
	}
	k.warnOfEnd(stderr, ring, time.Now())
	return ring, nil
}

// warnOfEnd says that a ring ends soon: sessions do with it.
func (k *keyFlags) warnOfEnd(stderr io.Writer, ring policyconfig.KeyRing, now time.Time) {
	if left := time.Unix(int64(ring.NotAfter), 0).Sub(now); ring.NotAfter != 0 && left < 14*24*time.Hour {
		message.PrintWarning(stderr, fmt.Sprintf("%s: the ring ends at %s, and all sessions with it; "+
			"'limpet keygen --add-to %[1]s -o %[1]s --expires TIME' moves its end", k.file, ring.NotAfter))
	}
}

// readRoots reads the root secrets, and warns when others can read them too.
func (k *keyFlags) readRoots(stderr io.Writer) ([]token.Root, error) {
	roots, warning, err := keyfile.ReadRoots(k.rootFile)
	if warning != "" {
		message.PrintWarning(stderr, warning)
	}
	return roots, err
}

// fixRoots sets the root secrets of an Envoy that limpet starts: those of the user, or a fresh one.
func (k *keyFlags) fixRoots(stderr io.Writer) (err error) {
	if k.file == "" {
		return nil
	}
	k.fixed, err = k.readRoots(stderr)
	if errors.Is(err, keyfile.ErrNoRoot) {
		k.fixed, err = []token.Root{keyfile.NewRoot(string(compiler.TargetEnvoy))}, nil
	}
	return err
}

// readKeyFile reads a key file, and warns when others can read it too.
func readKeyFile(path string, stderr io.Writer) (policyconfig.KeyRing, error) {
	ring, warning, err := keyfile.Read(path)
	if warning != "" {
		message.PrintWarning(stderr, warning)
	}
	return ring, err
}

// areClear tells whether the output will hold keys that whoever reads it can use.
func (k *keyFlags) areClear() bool { return k.clear }

// fileMode is the mode of output files.
func (k *keyFlags) fileMode(r *compiler.Result) fs.FileMode {
	if k.areClear() || r.PrivateKeys {
		return 0o600
	}
	return 0o644
}

// warnOfOpenFolder says that others can put files and links where a result with secrets is written.
func (k *keyFlags) warnOfOpenFolder(stderr io.Writer, r *compiler.Result, dir string) {
	info, err := os.Stat(dir)
	if err == nil && k.fileMode(r) == 0o600 && info.Mode()&0o022 != 0 {
		message.PrintWarning(
			stderr,
			fmt.Sprintf("%s: others than its owner can put files and links there (mode %04o), and it holds secrets; "+
				"run 'chmod go-w' on it", dir, info.Mode().Perm()),
		)
	}
}

// printExposure says who can read the keys that limpet has just put into what.
func (k *keyFlags) printExposure(stderr io.Writer, r *compiler.Result, what string) {
	if r.PrivateKeys {
		message.Printf(stderr, "%s now holds the private keys of the listeners' certificates, for whoever can read it", what)
	}
	if k.areClear() {
		message.Printf(stderr, "%s now holds the signing keys in the clear, for whoever can read it; Envoy shows them "+
			"too, in /config_dump on its admin address and in its log if it refuses the configuration; without "+
			"--keys-in-clear they are sealed", what)
	}
}
