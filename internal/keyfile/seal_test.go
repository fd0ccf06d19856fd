package keyfile

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// TestSeal: what is sealed is the ring, and equal rings under equal roots are equal.
func TestSeal(t *testing.T) {
	parsed, err := Parse("ring", testRing)
	if err != nil {
		t.Fatal(err)
	}
	root := NewRoot("envoy")
	sealed, err := Seal(parsed, &root)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := token.Unseal([]token.Root{root}, sealed); err != nil || string(plain) != testRing {
		t.Errorf("unsealed: %s, %v", plain, err)
	}
	if again, err := Seal(parsed, &root); err != nil || again != sealed {
		t.Errorf("sealed again it is another text: %v", err)
	}
}

// TestReadRoots reads root secrets from the environment and from files, and says what is wrong without showing them.
func TestReadRoots(t *testing.T) {
	old := NewRoot("istio")
	good := RootsText(AddRoot([]token.Root{old}))
	path := filepath.Join(t.TempDir(), "root.txt")
	for text, fails := range map[string]bool{
		good: false, good + "\n": false, old.Text(): false,
		"": true,
		base64.RawURLEncoding.EncodeToString([]byte("too short")):               true,
		base64.URLEncoding.EncodeToString([]byte(strings.Repeat("padded!", 5))): true,
		strings.Repeat("+/", 30): true,
	} {
		t.Setenv(policyconfig.RootSecretEnv, text)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, where := range map[string]string{policyconfig.RootSecretEnv: "", path: path} {
			roots, warning, err := ReadRoots(where)
			switch {
			case warning != "" || (err != nil) != fails:
				t.Errorf("%q in %s: warning %q, error %v", text, name, warning, err)
			case fails && !strings.HasPrefix(err.Error(), name+": must be one or two root secrets"):
				t.Errorf("%q in %s: got %v", text, name, err)
			case fails && text != "" && strings.Contains(err.Error(), text):
				t.Errorf("the secret is in the error %v", err)
			case !fails && RootsText(roots) != strings.TrimSpace(text):
				t.Errorf("%s holds other roots", name)
			}
		}
	}
}

// TestRootFiles: without a root secret there is advice, and a file that others can read is warned of.
func TestRootFiles(t *testing.T) {
	t.Setenv(policyconfig.RootSecretEnv, "")
	if err := os.Unsetenv(policyconfig.RootSecretEnv); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadRoots(""); err != ErrNoRoot { //nolint:errorlint // it is that one itself
		t.Errorf("got %v without any", err)
	}
	root, path := NewRoot("envoy"), filepath.Join(t.TempDir(), "root.txt")
	if err := os.WriteFile(path, []byte(root.Text()), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, warning, err := ReadRoots(path); err != nil || !strings.Contains(warning, "(mode 0640)") {
		t.Errorf("warning %q, error %v", warning, err)
	}
	if _, _, err := ReadRoots(path + "x"); !os.IsNotExist(err) {
		t.Errorf("got %v for a file that is not there", err)
	}
}

// TestRootFor: a root secret seals for its own target, and one without a target for each.
func TestRootFor(t *testing.T) {
	for _, c := range []struct {
		of, target string
		fits       bool
	}{{"envoy", "envoy", true}, {"", "istio", true}, {"envoy", "istio", false}} {
		root, err := RootFor(c.target, []token.Root{NewRoot(c.of), NewRoot(c.target)})
		if (err == nil) != c.fits || c.fits && root.Target != c.of {
			t.Errorf("one for %q, asked for %q: %v", c.of, c.target, err)
		}
		if err != nil && !strings.Contains(err.Error(), "limpet keygen --root -t "+c.target) {
			t.Errorf("no advice: %v", err)
		}
	}
}
