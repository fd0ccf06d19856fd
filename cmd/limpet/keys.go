package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// The environment variables of Envoy, and of limpet where it stands in for Envoy.
const (
	envKeys = "LIMPET_KEYS" // the key ring's JSON
	envRoot = "LIMPET_ROOT" // base64url of the secret that key rings are sealed under
)

// keyFlags say where the key ring comes from.
type keyFlags struct {
	file string
	seal bool
}

func (k *keyFlags) register(f *pflag.FlagSet) {
	f.StringVar(&k.file, "keys", "", "`FILE` with the key ring, or a Secret with one, to put into the\nconfiguration (default: Envoy reads the ring in LIMPET_KEYS)")
	f.BoolVar(&k.seal, "seal-keys", false, "seal the ring of --keys under the secret in LIMPET_ROOT")
}

func (k *keyFlags) check() error {
	if k.seal && k.file == "" {
		return usagef("--seal-keys needs --keys FILE")
	}
	return nil
}

// inTheClear tells whether the output will hold keys that anybody who reads it can use.
func (k *keyFlags) inTheClear() bool { return k.file != "" && !k.seal }

// fileMode is the mode of output files.
func (k *keyFlags) fileMode(r *compiler.Result) fs.FileMode {
	if k.inTheClear() || r.PrivateKeys {
		return 0o600
	}
	return 0o644
}

// tell says who can read the keys that limpet has just put into what.
func (k *keyFlags) tell(stderr io.Writer, r *compiler.Result, what string) {
	if r.PrivateKeys {
		fmt.Fprintf(stderr, "limpet: %s now holds the private keys of the listeners' certificates, for whoever can read it\n", what)
	}
	if k.inTheClear() {
		fmt.Fprintf(stderr, "limpet: %s now holds the signing keys in the clear, for whoever can read it; Envoy shows them too, in /config_dump on its admin address and in its log if it refuses the configuration; --seal-keys avoids that\n", what)
	}
}

// load makes the plugin configuration's keys.
func (k *keyFlags) load(stderr io.Writer) (policyconfig.Keys, error) {
	if k.file == "" {
		return policyconfig.Keys{FromEnv: envKeys}, nil
	}
	ring, err := readKeyFile(stderr, k.file)
	if err != nil {
		return policyconfig.Keys{}, err
	}
	if !k.seal {
		return policyconfig.Keys{Ring: &ring}, nil
	}
	sealed, err := sealRing(ring)
	return policyconfig.Keys{Sealed: sealed}, err
}

// maxKeyFile is the size in bytes beyond which a key file is surely something else.
const maxKeyFile = 1 << 20

// readKeyFile reads and checks a key ring, and warns when others can read it too.
func readKeyFile(stderr io.Writer, path string) (policyconfig.KeyRing, error) {
	f, err := os.Open(path)
	if err != nil {
		return policyconfig.KeyRing{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode()&0o077 != 0 {
		fmt.Fprintf(stderr, "warning: %s: others than its owner can use this key file (mode %04o); run 'chmod 600' on it\n", path, info.Mode().Perm())
	}
	return readRing(path, f)
}

// readRing reads a key ring; name is for messages.
func readRing(name string, r io.Reader) (policyconfig.KeyRing, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxKeyFile+1))
	if err != nil {
		return policyconfig.KeyRing{}, err
	}
	if len(data) > maxKeyFile {
		return policyconfig.KeyRing{}, fmt.Errorf("%s: not a key ring: more than %d bytes", name, maxKeyFile)
	}
	text, err := ringText(string(data))
	if err != nil {
		return policyconfig.KeyRing{}, fmt.Errorf("%s: %w", name, err)
	}
	return parseRing(name, text)
}

// parseRing is a key ring in which every rule of policyconfig and of token holds. Its errors never show a secret.
func parseRing(name, data string) (policyconfig.KeyRing, error) {
	ring, problems := policyconfig.ParseKeyRing(data)
	var err error
	for _, p := range problems {
		err = errors.Join(err, fmt.Errorf("%s: %w", name, p))
	}
	if err != nil {
		return policyconfig.KeyRing{}, err
	}
	if err := checkRing(ring); err != nil {
		return policyconfig.KeyRing{}, fmt.Errorf("%s: %w", name, err)
	}
	return ring, nil
}

// checkRing builds the ring as the filter will.
func checkRing(ring policyconfig.KeyRing) error {
	keys := make([]token.Key, 0, len(ring.Keys))
	for _, k := range ring.Keys {
		keys = append(keys, token.Key{
			ID:        k.ID,
			Secret:    k.Secret,
			NotBefore: int64(k.NotBefore),
			NotAfter:  int64(k.NotAfter),
		})
	}
	_, err := token.NewRing(keys)
	return err
}

// sealRing seals a ring under the root secret in limpet's own environment. Equal rings and roots give equal bytes.
func sealRing(ring policyconfig.KeyRing) (string, error) {
	root, err := rootSecret()
	if err != nil {
		return "", err
	}
	plain, err := ringLine(ring)
	if err != nil {
		return "", err
	}
	return token.Seal(root, plain)
}

// ringLine is a ring as one line of JSON, without the line's end: the form for LIMPET_KEYS.
func ringLine(ring policyconfig.KeyRing) ([]byte, error) {
	text, err := policyconfig.MarshalKeyRing(ring)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, text)
	return line.Bytes(), err
}

// rootSecret is the secret in LIMPET_ROOT. Its errors never show the value.
func rootSecret() ([]byte, error) {
	text, set := os.LookupEnv(envRoot)
	if !set {
		return nil, fmt.Errorf("%s is not set: --seal-keys seals under the root secret that Envoy has in %[1]s; 'limpet keygen --root' makes one", envRoot)
	}
	root, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(root) < secretSize {
		return nil, fmt.Errorf("%s: must be at least %d bytes as URL-safe base64 without padding; 'limpet keygen --root' makes one", envRoot, secretSize)
	}
	return root, nil
}
