package main

import (
	"bytes"
	"crypto/elliptic"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

// perfectGateway has one listener, for HTTPS, with a certificate.
const perfectGateway = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: default}
spec:
  gatewayClassName: limpet
  listeners: [{name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: web}]}}]
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: default}
type: kubernetes.io/tls
data: {tls.crt: %s, tls.key: %s}
`

// Of 3,000 routes with which nothing is wrong check has one line to say.
func TestPerfectInputIsOneLine(t *testing.T) {
	const routes = 3000
	folder := t.TempDir()
	for _, s := range scaletest.MakeRoutes(routes) {
		if s.Name == "gateway.yaml" {
			s.Data = fmt.Appendf(nil, perfectGateway, makePair(t)...)
		}
		if err := os.WriteFile(filepath.Join(folder, s.Name), s.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	root := newRoot()
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs([]string{"check", folder})
	if err := root.Execute(); err != nil {
		t.Errorf("%v", err)
	}
	if want := "3,000 routes and 3,002 other objects: all accepted\n"; stdout.String() != want || stderr.Len() > 0 {
		t.Errorf("got %.2000s%.2000s, want %s", &stdout, &stderr, want)
	}
}

// makePair makes a certificate of the routes' hosts and its key, as a Secret has them.
func makePair(t *testing.T) []any {
	t.Helper()
	chain, private := compilertest.IssueCertificate(t, compilertest.NewKeyOnCurve(t, elliptic.P256()))
	return []any{base64.StdEncoding.EncodeToString(chain), base64.StdEncoding.EncodeToString(private)}
}
