package kubernetes

import (
	"fmt"
	"testing"

	standin "github.com/limpet-proxy/limpet/e2e/internal/cluster"
	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestReferences: of Secrets and ConfigMaps limpet keeps those alone that something refers to. One that is referred to later is read then,
// and what becomes of it follows.
func TestReferences(t *testing.T) {
	c, port := openShop(t, "10.244.0.1")
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default")
	served := func() string { return fmt.Sprint(served(t, s, "default/late")["secrets"]) }
	keeps := func(what string, want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s there are %d objects", what, want), func() bool {
			return int(s.Metric(t, "limpet_cache_objects")) == want
		})
	}
	authority, folder := harness.NewAuthority(t), t.TempDir()
	certificate := func(name string) {
		authority.Issue(t, folder, "edge", "late.example", "")
		c.set(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: default}\ntype: kubernetes.io/tls\nstringData:\n  tls.crt: %q\n  tls.key: %q\n",
			name, readFile(t, folder+"/edge.crt"), readFile(t, folder+"/edge.key")))
	}
	before := int(s.Metric(t, "limpet_cache_objects"))
	for i := range 5 {
		certificate(fmt.Sprintf("unused-%d", i))
		c.set(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unused-%d, namespace: default}\ndata:\n  ca.crt: %q\n", i, readFile(t, folder+"/edge-ca.crt")))
	}
	service := object("v1", "Service", "default", "later")
	c.set(t, "apiVersion: v1\nkind: Service\nmetadata: {name: later, namespace: default}\nspec: {ports: [{port: 443}]}\n")
	keeps("with a Service", before+1)

	gateway, policy := object("gateway.networking.k8s.io/v1", "Gateway", "default", "late"), object("gateway.networking.k8s.io/v1", "BackendTLSPolicy", "default", "late")
	c.set(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: late, namespace: default}
spec: {gatewayClassName: limpet, listeners: [{name: https, protocol: HTTPS, port: 9443, tls: {certificateRefs: [{name: unused-1}]}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: late, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: later}]
  validation: {hostname: late.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: unused-2}]}
`)
	keeps("with a Gateway, a policy and what they refer to", before+5)
	eventually(t, "the certificate is served", func() bool { return served() != "map[]" })
	first := served()
	certificate("unused-1")
	certificate("unused-3")
	eventually(t, "another certificate is served", func() bool { return served() != first && served() != "map[]" })
	secret := object("v1", "Secret", "default", "unused-1")
	c.remove(t, secret)
	keeps("without the Secret", before+4)
	certificate("unused-1")
	keeps("with the Secret again", before+5)
	eventually(t, "a certificate is served again", func() bool { return served() != "map[]" })

	c.remove(t, gateway)
	c.remove(t, policy)
	c.remove(t, service)
	keeps("with what was referred to once", before+2)
	for i := range 5 {
		c.remove(t, object("v1", "Secret", "default", fmt.Sprintf("unused-%d", i)))
		c.remove(t, object("v1", "ConfigMap", "default", fmt.Sprintf("unused-%d", i)))
	}
	keeps("in the end", before)
}
