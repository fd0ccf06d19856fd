// Package pki reads certificates and private keys from PEM, and says of those that Envoy would not take why: it refuses
// a whole configuration for a bad one. No error shows what was read.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const certificateBlock = "CERTIFICATE"

// ParseKeyPair gives a chain and its private key without what may stand around them, or says why they can't be used.
func ParseKeyPair(chain, private []byte) (c ir.Certificate, why string) {
	for _, block := range decode(chain) {
		if block.Type != certificateBlock {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return c, "tls.crt holds a certificate that can't be read"
		}
		c.Chain += encode(block)
	}
	for _, block := range decode(private) {
		if block.Type == "PRIVATE KEY" || strings.HasSuffix(block.Type, " PRIVATE KEY") {
			c.Key = policyconfig.Secret(encode(block))
			break
		}
	}
	pair, err := tls.X509KeyPair([]byte(c.Chain), c.Key)
	if err != nil {
		return c, "tls.crt and tls.key are no certificate and private key in PEM that belong together"
	}
	return c, explainWeakKey(pair.Leaf)
}

// ParseAuthorities gives the certificates in a text without what may stand around them; empty if there is none, or one
// that can't be read.
func ParseAuthorities(text string) (all string) {
	for _, block := range decode([]byte(text)) {
		if block.Type != certificateBlock {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return ""
		}
		all += encode(block)
	}
	return all
}

func decode(text []byte) []*pem.Block {
	var all []*pem.Block
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		all = append(all, block)
	}
}

// encode is a block without headers: with one it would be encrypted, and unusable.
func encode(block *pem.Block) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
}

// explainWeakKey says why a key is none that Envoy serves; empty if it is.
func explainWeakKey(leaf *x509.Certificate) string {
	switch public := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		if public.N.BitLen() < 2048 {
			return "an RSA key must have 2048 bits or more"
		}
	case *ecdsa.PublicKey:
		if public.Curve == elliptic.P224() {
			return "an ECDSA key must be on one of the curves P-256, P-384 and P-521"
		}
	}
	return ""
}
