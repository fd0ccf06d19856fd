package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// contourDocuments are an HTTPProxy whose requests an ExtensionService is asked about, one whose connections end at the proxy and go on
// as they are, and sessions for all of the Gateway.
const contourDocuments = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: asked, namespace: default}
spec:
  virtualhost: {fqdn: asked.example.com, authorization: {extensionRef: {name: authorizer}}}
  routes:
  - {services: [{name: pods, port: 80}]}
  - {conditions: [{prefix: /open}], services: [{name: pods, port: 80}], authPolicy: {disabled: true}}
---
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {name: authorizer, namespace: default}
spec: {protocol: h2c, services: [{name: authorizer, port: 80}], loadBalancerPolicy: {strategy: Cookie}}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: connections, namespace: default}
spec:
  virtualhost: {fqdn: connections.example.com, tls: {secretName: https-0}}
  tcpproxy: {services: [{name: pods, port: 80}], loadBalancerPolicy: {strategy: RequestHash}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: connections, namespace: default}
spec:
  gatewayClassName: limpet
  listeners: [{name: tls, protocol: TLS, port: %d, hostname: connections.example.com, tls: {mode: Terminate, certificateRefs: [{name: https-0}]}}]
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: edge, namespace: default}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}], sessionName: s}
`

// TestContour: an HTTPProxy's requests are asked about by its ExtensionService, and have the Gateway's sessions; a tcpproxy's connections
// get to its services. Both go on to serve though what they say of hashes is for HTTP routes.
//
// requirements: S55
func TestContour(t *testing.T) {
	t.Parallel()
	certificate, port := harness.NewCertificate(t, "connections.example.com"), harness.FreePort(t)
	authorizer := harness.NewGRPCAuthorizer(t)
	documents := harness.OneRoute(harness.Backends(t, "a", "b", "c"), harness.PlainRule("plain", "pods"))
	documents.Services = append(documents.Services, harness.Service{Name: "authorizer", Backends: []*harness.Backend{authorizer.Backend}})
	documents.Sites = []harness.Site{{Certificate: certificate}}
	documents.Routes[0].Hostnames = []string{"plain.example.com"}
	documents.More = fmt.Sprintf(contourDocuments, port)
	envoy := harness.Run(t, harness.Deployment{Documents: documents})

	client := envoy.Client()
	client.Host = "asked.example.com"
	denied := client.Get(t, "/")
	if denied.Status != http.StatusUnauthorized || denied.Backend != "" || denied.Header["Set-Cookie"] != nil {
		t.Errorf("denied: %d from %q with %q", denied.Status, denied.Backend, denied.Header["Set-Cookie"])
	}
	first := visit(t, client, "/", harness.Allowed)
	if len(first.Header["Set-Cookie"]) != 1 {
		t.Errorf("a session begins with %q", first.Header["Set-Cookie"])
	}
	if home := stay(t, client, "/", 8, harness.Allowed); home != first.Backend {
		t.Errorf("the session went from %s to %s", first.Backend, home)
	}
	stay(t, client, "/open", 4)

	homes := map[string]int{}
	for range 12 {
		secure := envoy.Client().TLS(certificate, port)
		secure.HTTP().Transport.(*http.Transport).TLSClientConfig.ServerName = "connections.example.com"
		homes[visit(t, secure, "/").Backend]++
	}
	wantBalanced(t, homes)
}
