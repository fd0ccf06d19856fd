package backendtls_test

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/backendtls"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestRefusedAuthorities holds that a Secret or ConfigMap of the input that is refused is not said to be missing from it.
func TestRefusedAuthorities(t *testing.T) {
	objects, _ := compilertest.TryAdmit(t, resource.Options{},
		"apiVersion: v1\nkind: Secret\nmetadata: {name: bad}\ntype: kubernetes.io/tls\ndata: {tls.crt: '%', tls.key: ''}",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: 7",
		"apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {name: p}\nspec:\n"+
			`  targetRefs: [{group: "", kind: Service, name: s}]`+"\n"+
			`  validation: {hostname: a.org, caCertificateRefs: [{group: "", kind: ConfigMap, name: bad}]}`,
		"apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 443}]}",
	)
	rep := &report.Report{}
	policies := backendtls.New(objects, rep)
	compilertest.CheckProblems(t, rep.Warnings(), "caCertificateRefs: without a certificate",
		`caCertificateRefs[0].name: Invalid value: "bad": ConfigMap default/bad is refused itself`)
	for name, want := range map[string]string{
		"bad":  "Secret default/bad is refused itself",
		"gone": "there is no Secret default/gone in the input (limpet serve reads those of the type kubernetes.io/tls)",
	} {
		if _, why := policies.FindAuthorities("default", name); why != want {
			t.Errorf("got %q, want %q", why, want)
		}
	}
}
