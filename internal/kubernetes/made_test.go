package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// fakeSecrets are those of limpet's namespace, on no API server.
func fakeSecrets() typedcorev1.SecretInterface {
	return fake.NewClientset().CoreV1().Secrets("limpet-system")
}

func getSecret(t *testing.T, secrets typedcorev1.SecretInterface, name string) *corev1.Secret {
	t.Helper()
	secret, err := secrets.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestRootSecret: the root secret is made once, and then read; a Secret without one says how to make one.
func TestRootSecret(t *testing.T) {
	secrets, log := fakeSecrets(), slog.New(slog.DiscardHandler)
	first, err := Roots(t.Context(), secrets, "limpet-root", "envoy", log)
	if err != nil || len(first) != 1 || first[0].Target != "envoy" {
		t.Fatalf("%d roots, %v", len(first), err)
	}
	again, err := Roots(t.Context(), secrets, "limpet-root", "envoy", log)
	if err != nil || string(again[0].Secret) != string(first[0].Secret) {
		t.Errorf("a second start has another root: %v", err)
	}
	empty := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "empty"}}
	if _, err := secrets.Create(t.Context(), empty, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Roots(t.Context(), secrets, "empty", "envoy", log); err == nil || !strings.Contains(err.Error(), "limpet keygen --root") {
		t.Errorf("a Secret without a root: %v", err)
	}
}

// verify wants the server's certificate to be good for a host at a time.
func verify(t *testing.T, secret *corev1.Secret, host string, at time.Time) error {
	t.Helper()
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		t.Fatal("ca.crt has no certificate")
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{
		DNSName: host, Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// TestCertificates: they are made once, renewed when a third of their life is left or the server gets another name, by the same
// authority, and left alone where others made them.
func TestCertificates(t *testing.T) {
	secrets, now := fakeSecrets(), time.Now()
	c := &Certificates{Secrets: secrets, Name: "limpet-tls", Hosts: []string{"limpet.limpet-system.svc", "10.0.0.1"}, Log: slog.New(slog.DiscardHandler)}
	renew := func(at time.Time) *corev1.Secret {
		t.Helper()
		if err := c.renew(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		return getSecret(t, secrets, "limpet-tls")
	}
	made := renew(now)
	for _, host := range c.Hosts {
		if err := verify(t, made, host, now); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if verify(t, made, "other.svc", now) == nil || verify(t, made, c.Hosts[0], now.Add(certificateLife+time.Minute)) == nil {
		t.Error("it is good for another name, or for ever")
	}
	if same := renew(now.Add(certificateLife - renewBefore - time.Hour)); string(same.Data["tls.crt"]) != string(made.Data["tls.crt"]) {
		t.Error("it was renewed before it was time")
	}
	later := now.Add(certificateLife - renewBefore + time.Hour)
	renewed := renew(later)
	if string(renewed.Data["tls.crt"]) == string(made.Data["tls.crt"]) || string(renewed.Data["ca.crt"]) != string(made.Data["ca.crt"]) {
		t.Error("the certificate is not renewed, or the authority is another one")
	}
	if err := verify(t, renewed, c.Hosts[0], now.Add(certificateLife+time.Hour)); err != nil {
		t.Error(err)
	}
	c.Hosts = append(c.Hosts, "edge.example")
	if err := verify(t, renew(later), "edge.example", later); err != nil {
		t.Errorf("the server's new name: %v", err)
	}
	block, _ := pem.Decode(renewed.Data["tls.crt"])
	if leaf, err := x509.ParseCertificate(block.Bytes); err != nil || leaf.IsCA || leaf.KeyUsage&x509.KeyUsageCertSign != 0 {
		t.Errorf("the server's certificate can sign others: %v", err)
	}
}

// TestCertificatesOfOthers: what cert-manager or a person made is not written.
func TestCertificatesOfOthers(t *testing.T) {
	secrets := fakeSecrets()
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "limpet-tls"}, Data: map[string][]byte{"tls.crt": []byte("theirs")}}
	if _, err := secrets.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c := &Certificates{Secrets: secrets, Name: "limpet-tls", Hosts: []string{"limpet"}, Log: slog.New(slog.DiscardHandler)}
	if err := c.renew(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if now := getSecret(t, secrets, "limpet-tls"); string(now.Data["tls.crt"]) != "theirs" {
		t.Error("another's Secret was written")
	}
}
