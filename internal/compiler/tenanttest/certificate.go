package tenanttest

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"time"
)

// makeCertificate makes one for every host of a world, and its key, in PEM: the same each time.
func makeCertificate() (chain, key string) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"*.example.com"},
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	text, err := x509.CreateCertificate(nil, template, template, private.Public(), private)
	if err != nil {
		panic(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
