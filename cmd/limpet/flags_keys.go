package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// keyFlags say where the key ring comes from.
type keyFlags struct {
	file string
	seal bool
}

func (k *keyFlags) register(f *pflag.FlagSet) {
	f.StringVar(&k.file, "keys", "",
		"`FILE` with the key ring, or a Secret with one, to put into the\n"+
			"configuration (default: Envoy reads the ring in LIMPET_KEYS)")
	f.BoolVar(&k.seal, "seal-keys", false, "seal the ring of --keys under the secret in LIMPET_ROOT")
}

func (k *keyFlags) check() error {
	if k.seal && k.file == "" {
		return usagef("--seal-keys needs --keys FILE")
	}
	return nil
}

// load makes the plugin configuration's keys.
func (k *keyFlags) load(stderr io.Writer) (policyconfig.Keys, error) {
	if k.file == "" {
		return policyconfig.Keys{FromEnv: policyconfig.DefaultKeysEnv}, nil
	}
	ring, err := readKeyFile(k.file, stderr)
	if err != nil {
		return policyconfig.Keys{}, err
	}
	if err := keyfile.CheckNotExpired(ring, time.Now()); err != nil {
		return policyconfig.Keys{}, fmt.Errorf("%s: %w", k.file, err)
	}
	if !k.seal {
		return policyconfig.Keys{Ring: &ring}, nil
	}
	sealed, err := keyfile.Seal(ring)
	return policyconfig.Keys{Sealed: sealed}, err
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
func (k *keyFlags) areClear() bool { return k.file != "" && !k.seal }

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
		message.PrintWarning(stderr, fmt.Sprintf("%s: others than its owner can put files and links there (mode %04o), and it holds secrets; "+
			"run 'chmod go-w' on it", dir, info.Mode().Perm()))
	}
}

// printExposure says who can read the keys that limpet has just put into what.
func (k *keyFlags) printExposure(stderr io.Writer, r *compiler.Result, what string) {
	if r.PrivateKeys {
		message.Printf(stderr, "%s now holds the private keys of the listeners' certificates, for whoever can read it", what)
	}
	if k.areClear() {
		message.Printf(stderr, "%s now holds the signing keys in the clear, for whoever can read it; "+
			"Envoy shows them too, in /config_dump on its admin address and in its log if it refuses the configuration; "+
			"--seal-keys avoids that", what)
	}
}
