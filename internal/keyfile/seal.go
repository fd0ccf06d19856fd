package keyfile

import (
	"errors"
	"fmt"
	"io"
	"os"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Seal seals a ring under a root secret. Equal rings and roots give equal bytes.
func Seal(ring policyconfig.KeyRing, root *token.Root) (string, error) {
	plain, err := Marshal(ring)
	if err != nil {
		return "", err
	}
	return root.Seal(plain)
}

// ErrNoRoot says what to do where a ring shall be sealed and there is no root secret.
var ErrNoRoot = errors.New("--keys seals the ring, and there is no root secret to seal it under: " +
	"'limpet keygen --root -o root.txt' makes one; limpet gets it by --root root.txt or in " + policyconfig.RootSecretEnv +
	", and each Envoy in its environment, as " + policyconfig.RootSecretEnv + "; --keys-in-clear does without")

// ReadRoots reads the root secrets in a file, or, where path is empty, in the environment. Its errors never show one.
func ReadRoots(path string) (roots []token.Root, warning string, err error) {
	if path != "" {
		return readRootFile(path)
	}
	text, set := os.LookupEnv(policyconfig.RootSecretEnv)
	if !set {
		return nil, "", ErrNoRoot
	}
	roots, err = ParseRoots(policyconfig.RootSecretEnv, text)
	return roots, "", err
}

func readRootFile(path string) (roots []token.Root, warning string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRootFile))
	if err != nil {
		return nil, "", err
	}
	roots, err = ParseRoots(path, string(text))
	return roots, warnOfMode(path, f), err
}

// maxRootFile is more bytes than root secrets take.
const maxRootFile = 4096

// ParseRoots parses root secrets; name is for messages.
func ParseRoots(name, text string) ([]token.Root, error) {
	roots, err := token.ParseRoots(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; 'limpet keygen --root' makes one", name, err)
	}
	return roots, nil
}

// RootFor is the root secret that seals for a target: the first, which must not be another's.
func RootFor(target string, roots []token.Root) (*token.Root, error) {
	root := &roots[0]
	if root.Target != "" && root.Target != target {
		return nil, fmt.Errorf(
			"the root secret is for %s, not for %s; 'limpet keygen --root -t %[2]s' makes one",
			root.Target,
			target,
		)
	}
	return root, nil
}

// RootsText is roots as the environment has them.
func RootsText(roots []token.Root) string {
	text := ""
	for i := range roots {
		if i > 0 {
			text += ","
		}
		text += roots[i].Text()
	}
	return text
}
