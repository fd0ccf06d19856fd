package gateway

import (
	"net/netip"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestRefusedSecrets holds that a Secret or ConfigMap of the input that is refused is not said to be missing from it.
func TestRefusedSecrets(t *testing.T) {
	documents := []string{
		limpetClass,
		"apiVersion: v1\nkind: Secret\nmetadata: {name: bad}\ntype: kubernetes.io/tls\ndata: {tls.crt: '%', tls.key: ''}",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: 7",
		gatewayOf("web", "{name: s, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: bad}]}}",
			", tls: {backend: {clientCertificateRef: {name: bad}}, frontend: {default: {validation: {caCertificateRefs: "+
				`[{group: "", kind: Secret, name: bad}, {group: "", kind: ConfigMap, name: bad}, {group: "", kind: Secret, name: gone}]}}, perPort: [{port: 443, tls: {}}]}}`),
	}
	objects, rep := compilertest.TryAdmit(t, resource.Options{}, documents...)
	compilertest.CheckProblems(t, rep.Errors(false),
		"Secret default/bad: data[tls.crt]: Invalid value: must be base64", "ConfigMap default/bad: data: Invalid value")
	b := newBuilt(Build(NewInput(objects, netip.MustParseAddr("0.0.0.0"))))
	compilertest.CheckProblems(t, b.rep.Warnings(),
		`certificateRefs[0].name: Not found: "bad": Secret default/bad is refused itself: the listener does without`,
		`spec.tls.backend.clientCertificateRef.name: Not found: "bad": Secret default/bad is refused itself: the Gateway shows`,
		"spec.tls.frontend.default.validation.caCertificateRefs: without a certificate",
		`caCertificateRefs[0].name: Invalid value: "bad": Secret default/bad is refused itself`,
		`caCertificateRefs[1].name: Invalid value: "bad": ConfigMap default/bad is refused itself`,
		`caCertificateRefs[2].name: Invalid value: "gone": there is no Secret default/gone of the type kubernetes.io/tls in the input`,
	)
}
