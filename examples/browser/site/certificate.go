package site

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// Certificate is a certificate that only this example trusts, with its private key.
type Certificate struct {
	// Chain and Key are PEM.
	Chain, Key []byte
	// Pin is the base64 of the SHA-256 of its public key, by which Chromium can be told to trust it.
	Pin string
}

// NewCertificate makes a certificate for these hosts that is good for a week.
func NewCertificate(hosts ...string) (*Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "limpet's example"}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(7 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(public)
	return &Certificate{
		Chain: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain}),
		Key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		Pin:   base64.StdEncoding.EncodeToString(sum[:]),
	}, nil
}

// Secret is the document that the example's Gateway names.
func (c *Certificate) Secret() string {
	return fmt.Sprintf(
		"apiVersion: v1\nkind: Secret\nmetadata: {name: browser, namespace: default}\ntype: kubernetes.io/tls\n"+
			"data:\n  tls.crt: %s\n  tls.key: %s\n",
		base64.StdEncoding.EncodeToString(c.Chain),
		base64.StdEncoding.EncodeToString(c.Key),
	)
}
