package resource_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestKindsOfTheCore holds that no kind that an API server itself has counts as one of limpet's, misspelt.
func TestKindsOfTheCore(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kinds := 0
	for gvk := range scheme.AllKnownTypes() {
		if gvk.Group == "__internal" || gvk.Version != "v1" || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		kinds++
		text := document(gvk.GroupVersion().String()+"/"+gvk.Kind, "spec: {}")
		if _, rep := compilertest.TryAdmit(t, resource.Options{}, text); strings.Contains(rep.Errors(false).Error(), "no matches for kind") {
			t.Errorf("%s: %v", gvk, rep.Errors(false))
		}
	}
	if kinds < 20 {
		t.Errorf("there are %d kinds only", kinds)
	}
}

// TestKindsOfOtherControlPlanes holds that a control plane's users hear no more of Contour's kind, and of what of an XBackend
// limpet itself does not serve, than that it is not theirs: nothing of it is refused.
func TestKindsOfOtherControlPlanes(t *testing.T) {
	for name, text := range map[string]string{
		"an HTTPProxy with options of TLS":          document(httpProxy, `spec: {virtualhost: {fqdn: a.org, tls: {secretName: a, minimumProtocolVersion: "1.3"}}}`),
		"an HTTPProxy that others include":          document(httpProxy, "spec: {routes: [{conditions: [{header: {name: a}}], services: [{name: a, port: 80}]}]}"),
		"an XBackend whose hosts see a certificate": document(xbackend, "spec: {type: ExternalHostname, externalHostname: {hostname: a.org}, port: {number: 443}, protocol: HTTP, tls: {mode: ClientAndServer, clientCertificateRef: {name: a}, validation: {hostname: a.org, wellKnownCACertificates: System}}}"),
	} {
		t.Run(name, func(t *testing.T) {
			objects, rep := compilertest.TryAdmit(t, resource.Options{ExternalControlPlane: true}, text)
			if problems := rep.Errors(false); len(problems) > 0 || countObjects(objects) != 1 {
				t.Errorf("%v", problems)
			}
			if _, rep := compilertest.TryAdmit(t, resource.Options{}, text); len(rep.Errors(false)) == 0 {
				t.Error("limpet itself would serve it")
			}
		})
	}
}
