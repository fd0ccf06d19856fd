package kubernetes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/proxies"
)

// Certificates are the server's own, in a Secret: an authority of limpet's, and a certificate that it has signed. Both
// are made if there is no such Secret, and the certificate is renewed while there is. A Secret that others made is
// theirs.
type Certificates struct {
	Secrets Secrets
	Name    string
	// Hosts are the DNS names and IP addresses of the server.
	Hosts []string
	Log   *slog.Logger
}

// How long certificates are valid, and the part of that from which on they are renewed. The authority's end is that of
// all Envoys' trust: it is not moved.
const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 90 * 24 * time.Hour
	renewBefore     = certificateLife / 3
	clockSkew       = time.Hour
)

// authorityKey is the name under which the Secret has the authority's private key.
const authorityKey = "ca.key"

// Start makes the Secret if need be, and renews the certificate until ctx ends.
func (c *Certificates) Start(ctx context.Context) error {
	if err := c.renew(ctx, time.Now()); err != nil {
		return fmt.Errorf("the certificates in Secret %s: %w", c.Name, err)
	}
	go func() {
		for pause(ctx, time.Hour); ctx.Err() == nil; pause(ctx, time.Hour) {
			if err := c.renew(ctx, time.Now()); err != nil {
				c.Log.Error("the server's certificate is not renewed", "secret", c.Name, "reason", err)
			}
		}
	}()
	return nil
}

// renew writes the Secret as it ought to be now. Every process does: the API server takes one of them.
func (c *Certificates) renew(ctx context.Context, now time.Time) error {
	secret, err := getOrMake(ctx, c.Secrets, c.Name, "a Secret", c.Log, func() (map[string][]byte, error) {
		data := map[string][]byte{}
		err := errors.Join(addAuthority(data, now), c.addCertificate(data, now))
		return data, err
	})
	if err != nil || secret.Labels[proxies.LabelManagedBy] != madeByLimpet || c.isGood(secret.Data, now) {
		return err
	}
	update := secret.DeepCopy()
	if err := c.addCertificate(update.Data, now); err != nil {
		return err
	}
	_, err = c.Secrets.Update(ctx, update, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) { // another process has
		return nil
	}
	if err == nil {
		c.Log.Info(
			"the server's certificate is renewed",
			"secret",
			c.Name,
			"until",
			now.Add(certificateLife).UTC().Format(time.RFC3339),
		)
	}
	return err
}

// isGood tells whether the certificate is valid for long enough, and for the names that the server has now.
func (c *Certificates) isGood(data map[string][]byte, now time.Time) bool {
	block, _ := pem.Decode(data[corev1.TLSCertKey])
	if block == nil {
		return false
	}
	have, err := x509.ParseCertificate(block.Bytes)
	if err != nil || have.NotAfter.Sub(now) < renewBefore {
		return false
	}
	return !slices.ContainsFunc(c.Hosts, func(host string) bool { return have.VerifyHostname(host) != nil })
}

// addAuthority makes an authority.
func addAuthority(data map[string][]byte, now time.Time) error {
	template := newTemplate("limpet", now, authorityLife)
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return issue(data, corev1.ServiceAccountRootCAKey, authorityKey, template, key, template, key)
}

// addCertificate makes a certificate that the authority has signed.
func (c *Certificates) addCertificate(data map[string][]byte, now time.Time) error {
	authority, signer, err := readAuthority(data)
	if err != nil {
		return err
	}
	template := newTemplate("limpet-server", now, certificateLife)
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range c.Hosts {
		if ip, err := netip.ParseAddr(host); err == nil {
			template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return issue(data, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, template, key, authority, signer)
}

func newTemplate(name string, now time.Time, life time.Duration) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // it never fails
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(life),
	}
}

// issue signs a certificate, and puts it and its key under these names.
func issue(
	data map[string][]byte, name, keyName string, template *x509.Certificate, key *ecdsa.PrivateKey,
	by *x509.Certificate, signer *ecdsa.PrivateKey,
) error {
	signed, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), signer)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	data[name] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	data[keyName] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
	return nil
}

// readAuthority reads the authority of a Secret.
func readAuthority(data map[string][]byte) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certificate, _ := pem.Decode(data[corev1.ServiceAccountRootCAKey])
	encoded, _ := pem.Decode(data[authorityKey])
	if certificate == nil || encoded == nil {
		return nil, nil, fmt.Errorf(
			"data: Required value: it has no %s and %s, so nothing can be signed; delete it, and limpet makes another",
			corev1.ServiceAccountRootCAKey,
			authorityKey,
		)
	}
	authority, err := x509.ParseCertificate(certificate.Bytes)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(encoded.Bytes)
	key, is := parsed.(*ecdsa.PrivateKey)
	if err != nil || !is {
		return nil, nil, fmt.Errorf("data.%s: Invalid value: must be an ECDSA key in PKCS #8", authorityKey)
	}
	return authority, key, nil
}
