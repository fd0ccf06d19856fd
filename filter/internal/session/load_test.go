package session

import (
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// TestSealedRing loads a sealed ring under each of the proxy's root secrets, and says why it does not.
func TestSealedRing(t *testing.T) {
	const plain = `{"keys":[{"id":"a","secret":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}]}`
	root := token.Root{Target: "envoy", Secret: []byte(strings.Repeat("root", 8))}
	next, elsewhere := token.Root{Target: "envoy", Secret: []byte(strings.Repeat("next", 8))}, token.Root{Target: "istio", Secret: root.Secret}
	sealed, err := root.Seal([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	for environment, fails := range map[string]string{
		root.Text():                            "",
		next.Text() + "," + root.Text():        "",
		next.Text() + "," + root.Text() + "\n": "",
		next.Text():                            "another root secret or for another target",
		elsewhere.Text():                       "another root secret or for another target",
		"":                                     "must be one or two root secrets",
		"c2hvcnQ":                              "must be one or two root secrets",
	} {
		getenv := func(name string) string { return map[string]string{policyconfig.RootSecretEnv: environment}[name] }
		_, _, errs := Read(`{"version":"limpet.dev/v1","keys":{"sealed":"`+sealed+`"},"policies":[]}`, getenv)
		text := ""
		for _, err := range errs {
			text += err.Error()
		}
		if (fails == "") != (text == "") || !strings.Contains(text, fails) {
			t.Errorf("with a root of %d bytes: %q, want %q in it", len(environment), text, fails)
		}
		if environment != "" && strings.Contains(text, environment) {
			t.Errorf("the secret is in the error %s", text)
		}
	}
}
