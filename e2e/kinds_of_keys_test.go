package e2e

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestKindsOfKeys: Envoy serves certificates of every kind of key that the compiler takes.
func TestKindsOfKeys(t *testing.T) {
	t.Parallel()
	kinds := map[string]crypto.Signer{}
	for name, curve := range map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384(), "p521": elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		kinds[name] = key
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	kinds["rsa"], kinds["ed25519"] = rsaKey, edKey
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	certificates := map[string]harness.Certificate{}
	for name, key := range kinds {
		host := name + ".example.com"
		certificates[host] = harness.NewCertificateFor(t, key, host)
		deployment.Documents.Sites = append(deployment.Documents.Sites, harness.Site{Hostname: host, Certificate: certificates[host]})
	}
	envoy := harness.Run(t, deployment)
	for host, certificate := range certificates {
		stay(t, envoy.Client().TLS(certificate, envoy.TLSPort).For(host), "/cart", 3)
	}
}
