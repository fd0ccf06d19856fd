package kubernetes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// asked are a Gateway, and what two Pods of limpet serve need that read it.
const asked = `
apiVersion: v1
kind: Namespace
metadata: {name: asked}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: limpet, namespace: asked}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: asked}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: limpet, namespace: asked}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: asked}
spec: {controllerName: limpet.dev/asked}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: asked}
spec:
  gatewayClassName: asked
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: asked}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
`

// askedRoute may have a session with the cookie CART.
const askedRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME, namespace: asked}
spec:
  parentRefs: [{name: edge}]
  rules:
  - name: only
    matches: [{path: {value: /}, headers: [{name: to, value: NAME}]}]
    backendRefs: [{name: cart, port: 80}]
`

// askedPod runs limpet serve.
const askedPod = `
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: asked
  labels: {app.kubernetes.io/name: limpet, app.kubernetes.io/component: controller}
spec:
  nodeName: node-1
  serviceAccountName: limpet
  containers:
  - name: limpet
    image: limpet
    args: [serve, --filter=native, --filter-path=liblimpet.so, --zone=zone-1, --system-namespace=asked, --controller-name=limpet.dev/asked, --keys=secret/limpet-keys, --root=secret/limpet-root, --probes=0.0.0.0:18003, --address-pool=10.0.9.0/24]
    readinessProbe: {httpGet: {path: /readyz, port: 18003}}
`

// lister may list Pods, and nothing else.
const lister = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lister}
rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: lister, namespace: asked}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lister}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: asker}]
`

// TestReplicas asks limpet serve in a cluster from outside: limpet status has all replicas, and names the right that is missing; and
// check understands the objects by the options and the memory of what serves. No command fetches the ring.
func TestReplicas(t *testing.T) {
	c := startCluster(t)
	c.startNode(t, map[string]standin.Image{
		"limpet": {Files: map[string]string{"/usr/local/bin/limpet": harness.Find(t).Limpet}, Libraries: true, Entrypoint: []string{"limpet"}, User: 65532},
	}, nil)
	c.set(t, asked)
	defer c.remove(t, object("gateway.networking.k8s.io/v1", "Gateway", "asked", "edge"))
	c.setAsked(t, "first", false)
	c.setAsked(t, "second", true)
	for _, name := range []string{"one", "two"} {
		c.set(t, strings.Replace(askedPod, "NAME", name, 1))
	}
	admin := c.Kubeconfig(standin.AdminToken)
	for _, name := range []string{"one", "two"} {
		eventually(t, "Pod "+name+" is ready", func() bool {
			return strings.HasPrefix(condition(c.get(t, object("v1", "Pod", "asked", name)), "Ready"), "True")
		})
	}
	c.checkStatuses(t, admin)
	c.checkReading(t, admin)
	c.checkAsked(t)
}

// checkStatuses asks both replicas how they are, as who may, and as who may not.
func (c *cluster) checkStatuses(t *testing.T, admin string) {
	t.Helper()
	code, stdout, stderr := harness.Limpet(t, nil, "status", "--kubeconfig", admin, "-n", "asked")
	for _, want := range []string{"Pod asked/one:", "Pod asked/two:", "asked/edge", "no Envoy is connected", "FINGERPRINT"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("limpet status does not say %q: exit code %d\n%s%s", want, code, stdout, stderr)
		}
	}
	if code != 1 {
		t.Errorf("exit code %d, and there is no Envoy", code)
	}
	var answer struct {
		Replicas []struct {
			Replica string
			Status  struct{ Gateways []struct{ Gateway string } }
		}
	}
	_, stdout, stderr = harness.Limpet(t, nil, "status", "--kubeconfig", admin, "-n", "asked", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || len(answer.Replicas) != 2 || len(answer.Replicas[1].Status.Gateways) != 1 {
		t.Errorf("as JSON: %v\n%s%s", err, stdout, stderr)
	}
	c.set(t, lister)
	asker := c.changeKubeconfig(t, "user: {token:", "user: {as: asker, token:")
	eventually(t, "the role is in force", func() bool {
		code, stdout, stderr = harness.Limpet(t, nil, "status", "--kubeconfig", asker, "-n", "asked")
		return !strings.Contains(stderr, "the right to list pods")
	})
	if code != 1 || strings.Count(stdout, "the rights to create and to get pods/portforward in the namespace asked are needed") != 2 {
		t.Errorf("without rights: exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, _, stderr = harness.Limpet(t, nil, "status", "--kubeconfig", asker); !strings.Contains(stderr, "the right to list pods in the namespace limpet-system is needed") {
		t.Errorf("without the right to list: %s", stderr)
	}
	if _, stdout, _ = harness.Limpet(t, nil, "status", "--kubeconfig", admin, "-n", "asked", "--admin", "127.0.0.1:18009"); strings.Count(stdout, "connection refused") != 2 {
		t.Errorf("where nothing listens: %s", stdout)
	}
}

// setAsked makes or changes a route, with a session or without.
func (c *cluster) setAsked(t *testing.T, name string, session bool) {
	t.Helper()
	text := strings.ReplaceAll(askedRoute, "NAME", name)
	if session {
		text += "    sessionPersistence: {sessionName: CART}\n    retry: {codes: [503]}\n"
	}
	c.set(t, text)
}

// checkReading has the older route claim the name of the other's cookie: by dates it goes before, but the name stays with who has it.
func (c *cluster) checkReading(t *testing.T, admin string) {
	t.Helper()
	c.setAsked(t, "first", true)
	ask := func(args ...string) string {
		code, stdout, stderr := harness.Limpet(t, nil, append([]string{
			"describe", "--kubeconfig", admin, "--system-namespace", "asked", "httproute/asked/first",
		}, args...)...)
		return fmt.Sprintf("exit code %d\n%s%s", code, stdout, stderr)
	}
	eventually(t, "limpet serve has kept the name", func() bool { return strings.Contains(ask(), "CART-") })
	if answer := ask(); !strings.Contains(answer, "by the options and the memory of 'limpet serve' in Pod asked/one") || strings.Contains(answer, "not known here") {
		t.Errorf("of limpet serve: %s", answer)
	}
	_, stdout, stderr := harness.Limpet(t, nil, "check", "--kubeconfig", admin, "--system-namespace", "asked", "-n", "asked", "-o", "json")
	if !strings.Contains(stdout, `"10.0.9.`) {
		t.Errorf("the Gateway has no address of the pool of limpet serve:\n%s%s", stdout, stderr)
	}
	if answer := ask(); !strings.Contains(answer, "the native filter names the host of a session") {
		t.Errorf("by --filter native of limpet serve: %s", answer)
	}
	if answer := ask("-t", "istio"); !strings.Contains(answer, "by the options of 'limpet serve' in Pod asked/one; it serves Envoys of its own") ||
		!strings.Contains(answer, "exit code 0") {
		t.Errorf("of Istio's proxies: %s", answer)
	}
	if answer := ask("--controller-name", "limpet.dev/other"); !strings.Contains(answer, "not known here: no limpet serve of the controllerName limpet.dev/other runs there") {
		t.Errorf("of another: %s", answer)
	}
}
