package keyfile

import (
	"encoding/base64"
	"fmt"
	"os"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Seal seals a ring under the root secret in limpet's own environment. Equal rings and roots give equal bytes.
func Seal(ring policyconfig.KeyRing) (string, error) {
	root, err := readRoot()
	if err != nil {
		return "", err
	}
	plain, err := Marshal(ring)
	if err != nil {
		return "", err
	}
	return token.Seal(root, plain)
}

// readRoot reads the secret in LIMPET_ROOT. Its errors never show the value.
func readRoot() ([]byte, error) {
	text, set := os.LookupEnv(policyconfig.RootSecretEnv)
	if !set {
		return nil, fmt.Errorf("%s is not set: --seal-keys seals under the root secret that Envoy has in %[1]s; "+
			"'limpet keygen --root' makes one", policyconfig.RootSecretEnv)
	}
	root, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(root) < token.MinSecret {
		return nil, fmt.Errorf("%s: must be at least %d bytes as URL-safe base64 without padding; "+
			"'limpet keygen --root' makes one", policyconfig.RootSecretEnv, token.MinSecret)
	}
	return root, nil
}
