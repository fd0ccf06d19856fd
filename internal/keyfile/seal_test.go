package keyfile

import (
	"encoding/base64"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// TestSeal: what is sealed is the ring, and equal rings under equal roots are equal.
func TestSeal(t *testing.T) {
	t.Setenv(policyconfig.RootSecretEnv, NewRoot())
	parsed, err := Parse("ring", testRing)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := Seal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	root, err := readRoot()
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := token.Unseal(root, sealed); err != nil || string(plain) != testRing {
		t.Errorf("unsealed: %s, %v", plain, err)
	}
	if again, err := Seal(parsed); err != nil || again != sealed {
		t.Errorf("sealed again it is another text: %v", err)
	}
}

// TestReadRoot says what is wrong with the root secret without showing it.
func TestReadRoot(t *testing.T) {
	for _, text := range []string{
		"",
		base64.RawURLEncoding.EncodeToString([]byte("too short")),
		base64.URLEncoding.EncodeToString([]byte(strings.Repeat("padded!", 5))),
		strings.Repeat("+/", 30),
	} {
		t.Setenv(policyconfig.RootSecretEnv, text)
		_, err := readRoot()
		if err == nil || !strings.HasPrefix(err.Error(), "LIMPET_ROOT: must be at least 32 bytes") {
			t.Errorf("%q: got %v", text, err)
		} else if text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the secret is in the error %v", err)
		}
	}
}
