package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// reader may list what limpet reads but for Services, and no Secret.
const reader = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [gateway.networking.k8s.io, gateway.networking.x-k8s.io, limpet.dev], resources: ["*"], verbs: [list]}
- {apiGroups: [""], resources: [namespaces], verbs: [list]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: limpet}]
`

// TestListed asks a cluster what becomes of its objects, as who may read all and as who may not read Services: what hangs on these is
// unknown to the latter, who is told so. A namespace chooses what is shown, and not what is read.
func TestListed(t *testing.T) {
	c := startCluster(t)
	text := strings.Replace(shop, "PORT", fmt.Sprint(harness.FreePort(t)), 1) + "---" + slice("10.0.0.9")
	for _, document := range strings.Split(text+"\n---"+reader, "\n---\n") {
		c.set(t, document)
	}
	admin, other := c.Kubeconfig(standin.AdminToken), c.Kubeconfig(standin.LimpetToken)
	for _, one := range []struct {
		who             string
		denied, unknown bool
		args            []string
	}{
		{admin, false, false, []string{"-A"}},
		{other, true, true, []string{"-A"}},
		{other, true, true, nil},
		{other, true, false, []string{"-n", "kube-system"}},
	} {
		code, stdout, stderr := harness.Limpet(t, nil, append([]string{"check", "--kubeconfig", one.who}, one.args...)...)
		unknown := strings.Contains(stdout, "unknown: ") && strings.Contains(stdout, "HTTPRoute default/cart")
		if code != 0 || unknown != one.unknown || strings.Contains(stdout, "error: ") {
			t.Errorf("%v: exit code %d, unknown %t, want %t\n%s%s", one.args, code, unknown, one.unknown, stdout, stderr)
		}
		if strings.Contains(stderr, "what hangs on objects of kind Service is unknown") != one.denied ||
			!strings.Contains(stderr, "are not known here") {
			t.Errorf("%v: said\n%s", one.args, stderr)
		}
	}
	code, stdout, stderr := harness.Limpet(t, nil, "describe", "--kubeconfig", admin, "httproute/default/cart")
	if code != 0 || !strings.Contains(stdout, "CART") {
		t.Errorf("describe: exit code %d\n%s%s", code, stdout, stderr)
	}
	code, _, stderr = harness.Limpet(t, nil, "check", "--kubeconfig", admin, "-f", "x.yaml")
	if code != 2 || !strings.Contains(stderr, "exclude -f") {
		t.Errorf("files too: exit code %d, %s", code, stderr)
	}
}
