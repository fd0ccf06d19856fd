package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestSums: each file of the release has a line, and what is signed can be verified by the key's other half.
func TestSums(t *testing.T) {
	for _, kind := range []string{"ECDSA", "Ed25519"} {
		t.Run(kind, func(t *testing.T) {
			r := newRelease(t)
			if err := errors.Join(r.writeImages(), r.writeChecksums(), r.writeProvenance()); err != nil {
				t.Fatal(err)
			}
			sums := readFile(t, filepath.Join(r.out, sumsName))
			for line := range strings.Lines(sums) {
				sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
				if got := strings.TrimPrefix(digestOf([]byte(readFile(t, filepath.Join(r.out, file)))), "sha256:"); got != sum {
					t.Errorf("%s: %s, want %s", file, got, sum)
				}
			}
			if strings.Count(sums, "\n") != 7 { // limpet.wasm, a module for each architecture, three images, and their digests
				t.Errorf("checksums of\n%s", sums)
			}
			checkSignatures(t, r, kind, sums)
		})
	}
}

// checkSignatures signs with a fresh key, and verifies both signatures.
func checkSignatures(t *testing.T, r *release, kind, sums string) {
	t.Helper()
	verify := writeKey(t, r, kind)
	if err := r.sign(); err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(readFile(t, filepath.Join(r.out, sumsName+".sig"))))
	if err != nil || !verify([]byte(sums), signature) {
		t.Errorf("the checksums' signature: %v", err)
	}
	var envelope struct {
		PayloadType string
		Payload     []byte
		Signatures  []struct{ Sig []byte }
	}
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(r.out, "provenance.dsse.json"))), &envelope); err != nil {
		t.Fatal(err)
	}
	if !verify(preAuthentication(envelope.Payload), envelope.Signatures[0].Sig) || envelope.PayloadType != payloadType {
		t.Error("the provenance's signature is invalid")
	}
	if string(envelope.Payload) != readFile(t, filepath.Join(r.out, provenanceName)) {
		t.Error("another statement is in the envelope")
	}
}

// writeKey writes a fresh private key, and gives what verifies with its other half.
func writeKey(t *testing.T, r *release, kind string) func(text, signature []byte) bool {
	t.Helper()
	var private any
	var verify func(text, signature []byte) bool
	if kind == "ECDSA" {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		private, verify = key, func(text, signature []byte) bool {
			sum := sha256.Sum256(text)
			return ecdsa.VerifyASN1(&key.PublicKey, sum[:], signature)
		}
	} else {
		public, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		private, verify = key, func(text, signature []byte) bool { return ed25519.Verify(public, text, signature) }
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	r.key = filepath.Join(t.TempDir(), "key.pem")
	writeFile(t, r.key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
	return verify
}

// TestProvenance: the statement names each file and image, the commit and the version.
func TestProvenance(t *testing.T) {
	r := newRelease(t)
	if err := errors.Join(r.writeImages(), r.writeChecksums(), r.writeProvenance()); err != nil {
		t.Fatal(err)
	}
	var statement struct {
		Type          string `json:"_type"`
		PredicateType string
		Subject       []resource
		Predicate     struct {
			BuildDefinition struct {
				ExternalParameters   map[string]string
				ResolvedDependencies []resource
			}
			RunDetails struct{ Builder struct{ ID string } }
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(r.out, provenanceName))), &statement); err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, s := range statement.Subject {
		if len(s.Digest["sha256"]) != 64 {
			t.Errorf("%s has no SHA-256", s.Name)
		}
		names += s.Name + "\n"
	}
	for _, want := range []string{"limpet.wasm\n", sumsName + "\n", "ghcr.io/limpet-proxy/limpet:v1.2.3\n", "ghcr.io/limpet-proxy/limpet-filter:v1.2.3\n"} {
		if !strings.Contains(names, want) {
			t.Errorf("no subject %s among\n%s", want, names)
		}
	}
	d := statement.Predicate.BuildDefinition
	if statement.PredicateType != "https://slsa.dev/provenance/v1" || d.ExternalParameters["version"] != "v1.2.3" ||
		len(d.ResolvedDependencies[0].Digest["gitCommit"]) != 40 || statement.Predicate.RunDetails.Builder.ID != r.builder {
		t.Errorf("%+v", statement)
	}
}
