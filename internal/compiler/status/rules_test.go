package status_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/contourapi"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// now is the time at which conditions change.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// statusBase is what the cases have in common.
const statusBase = compilertest.Shop

// policyText is a policy of the cases: namespace/name, targets and the rest of the spec.
func policyText(kind, name, targets, spec string) string {
	namespace, name, _ := strings.Cut(name, "/")
	return fmt.Sprintf("---\napiVersion: limpet.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: %s}\nspec: {targetRefs: [%s], %s}\n",
		kind, name, namespace, targets, spec)
}

const (
	onClass   = `{group: gateway.networking.k8s.io, kind: GatewayClass, name: limpet}`
	onGateway = `{group: gateway.networking.k8s.io, kind: Gateway, name: web}`
	onMore    = `{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: more}`
	onHTTP    = `{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: http}`
	onRoute   = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}`
	onRule    = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart, sectionName: pay}`
	onNoRule  = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart, sectionName: none}`
	onPort    = `{group: "", kind: Service, name: cart, sectionName: http}`
	onNoPort  = `{group: "", kind: Service, name: cart, sectionName: none}`
	onService = `{group: "", kind: Service, name: cart}`
	onIdle    = `{group: "", kind: Service, name: idle}`
	onGone    = `{group: "", kind: Service, name: gone}`
)

func sessionPolicyText(name, targets, spec string) string {
	return policyText("SessionPersistencePolicy", name, targets, spec)
}

func loadBalancerText(name, targets, spec string) string {
	return policyText("LoadBalancerPolicy", name, targets, spec)
}

// statusRules are the rules of status as cases: documents in addition to statusBase, and lines that must come of them.
// Condition lines are OBJECT [@ ANCESTOR or LISTENER]: TYPE=STATUS/REASON ...
var statusRules = map[string]struct {
	documents string
	want      []string
}{
	"one ancestor for the Gateway, whatever the targets": {
		sessionPolicyText("shop/p", onService+","+onRoute, "absoluteTimeout: 1h"),
		[]string{"SessionPersistencePolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed"},
	},
	"a target that is missing is its own ancestor, and the others hold": {
		sessionPolicyText("shop/p", onService+","+onGone, "absoluteTimeout: 1h"),
		[]string{
			"SessionPersistencePolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"SessionPersistencePolicy shop/p @ Service gone: Accepted=False/TargetNotFound",
		},
	},
	"a section that is missing": {
		sessionPolicyText("shop/p", onNoRule, "absoluteTimeout: 1h"),
		[]string{"SessionPersistencePolicy shop/p @ HTTPRoute cart none: Accepted=False/TargetNotFound"},
	},
	"a target that no Gateway leads to": {
		sessionPolicyText("shop/p", onIdle, "absoluteTimeout: 1h"),
		[]string{"SessionPersistencePolicy shop/p @ Service idle: Accepted=True/Accepted Programmed=False/Pending"},
	},
	"a policy for a class has one ancestor, the class": {
		sessionPolicyText("limpet-system/p", onClass, "absoluteTimeout: 1h"),
		[]string{"SessionPersistencePolicy limpet-system/p @ GatewayClass limpet: Accepted=True/Accepted Programmed=True/Programmed"},
	},
	"a policy for a class in another namespace": {
		sessionPolicyText("shop/p", onClass, "absoluteTimeout: 1h"),
		[]string{"SessionPersistencePolicy shop/p @ GatewayClass limpet: Accepted=False/Invalid", "Gateway shop/web: Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs"},
	},
	"the loser of a conflict is not accepted, the winner is": {
		sessionPolicyText("shop/a", onRoute, "absoluteTimeout: 1h") + sessionPolicyText("shop/b", onRoute, "absoluteTimeout: 2h"),
		[]string{
			"SessionPersistencePolicy shop/a @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"SessionPersistencePolicy shop/b @ Gateway web: Accepted=False/Conflicted",
		},
	},
	"the loser of a conflict whose other fields hold is accepted": {
		sessionPolicyText("shop/a", onRoute, "absoluteTimeout: 1h") + sessionPolicyText("shop/b", onRoute, "absoluteTimeout: 2h, idleTimeout: 1m"),
		[]string{
			"SessionPersistencePolicy shop/a @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"SessionPersistencePolicy shop/b @ Gateway web: Accepted=True/Accepted Programmed=True/PartiallyProgrammed",
		},
	},
	"a field of the other type": {
		sessionPolicyText("shop/a", onGateway, "cookie: {sameSite: Lax}") + sessionPolicyText("shop/b", onRoute, "type: Header"),
		[]string{"SessionPersistencePolicy shop/a @ Gateway web: Accepted=True/Accepted Programmed=True/PartiallyProgrammed"},
	},
	"an override leaves nothing of it": {
		sessionPolicyText("limpet-system/o", onClass, "override: {absoluteTimeout: 1h}") + sessionPolicyText("shop/p", onRoute, "default: {absoluteTimeout: 2h}") +
			sessionPolicyText("shop/sticky", onRule, "idleTimeout: 1m"),
		[]string{"SessionPersistencePolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=False/Overridden"},
	},
	"atomic overrides above leave nothing of it": {
		sessionPolicyText("limpet-system/o", onClass, "strategy: AtomicOverrides, absoluteTimeout: 1h") + sessionPolicyText("shop/p", onRoute, "idleTimeout: 2m") +
			sessionPolicyText("shop/q", onService, "default: {idleTimeout: 2m}"),
		[]string{
			"SessionPersistencePolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=False/Overridden",
			"SessionPersistencePolicy shop/q @ Gateway web: Accepted=True/Accepted Programmed=False/Overridden",
		},
	},
	"atomic defaults of which nothing is left": {
		sessionPolicyText("shop/p", onGateway, "strategy: AtomicDefaults, idleTimeout: 2m") + sessionPolicyText("shop/q", onRoute, "absoluteTimeout: 1h"),
		[]string{"SessionPersistencePolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=False/Overridden"},
	},
	"atomic defaults and another policy on one target": {
		sessionPolicyText("shop/p", onRoute, "strategy: AtomicDefaults, idleTimeout: 2m") +
			sessionPolicyText("shop/q", onRoute, "strategy: AtomicDefaults, absoluteTimeout: 1h"),
		[]string{
			"SessionPersistencePolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"SessionPersistencePolicy shop/q @ Gateway web: Accepted=False/Conflicted",
		},
	},
	"a session that is off leaves nothing either": {
		sessionPolicyText("shop/p", onService, "absoluteTimeout: 2h") + sessionPolicyText("shop/without", onRoute, "disabled: true"),
		[]string{
			"SessionPersistencePolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=False/Overridden",
			"SessionPersistencePolicy shop/without @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"HTTPRoute shop/cart @ web http: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs SessionPersistencePolicyAffected=True/Accepted",
		},
	},
	"a route and a Gateway": {
		sessionPolicyText("shop/p", onGateway, "absoluteTimeout: 1h"),
		[]string{
			"HTTPRoute shop/cart @ web http: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs SessionPersistencePolicyAffected=True/Accepted",
			"Gateway shop/web: Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs SessionPersistencePolicyAffected=True/Accepted",
			"Gateway shop/web @ http: Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs Conflicted=False/NoConflicts",
		},
	},
	"a listener, and not what comes through another": {
		sessionPolicyText("shop/p", onMore, "absoluteTimeout: 1h"),
		[]string{
			"HTTPRoute shop/cart @ web http: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs",
			"Gateway shop/web: Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs",
			"Gateway shop/web @ http: Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs Conflicted=False/NoConflicts",
			"Gateway shop/web @ more: Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs Conflicted=False/NoConflicts SessionPersistencePolicyAffected=True/Accepted",
		},
	},
	"the listener that the route is on": {
		sessionPolicyText("shop/p", onHTTP, "absoluteTimeout: 1h"),
		[]string{"HTTPRoute shop/cart @ web http: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs SessionPersistencePolicyAffected=True/Accepted"},
	},
	"a load-balancing policy": {
		loadBalancerText("shop/p", onService, "strategy: Random"),
		[]string{
			"LoadBalancerPolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"HTTPRoute shop/cart @ web http: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs LoadBalancerPolicyAffected=True/Accepted",
		},
	},
	"entries that do not count": {
		loadBalancerText("shop/p", onRoute, "strategy: RequestHash, requestHashPolicies: [{hashSourceIP: true}, {hashSourceIP: true}]"),
		[]string{"LoadBalancerPolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=True/PartiallyProgrammed"},
	},
	"two load-balancing policies on one target": {
		loadBalancerText("shop/a", onRoute, "strategy: Random") + loadBalancerText("shop/b", onRoute+","+onGone, "strategy: RoundRobin"),
		[]string{
			"LoadBalancerPolicy shop/a @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"LoadBalancerPolicy shop/b @ Gateway web: Accepted=False/Conflicted",
			"LoadBalancerPolicy shop/b @ Service gone: Accepted=False/TargetNotFound",
		},
	},
	"policies of each kind affect the route and the Service": {
		sessionPolicyText("shop/p", onRoute, "absoluteTimeout: 1h") + loadBalancerText("shop/p", onService, "strategy: Random") + budgetOfCart,
		[]string{
			"HTTPRoute shop/cart @ web http: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs LoadBalancerPolicyAffected=True/Accepted SessionPersistencePolicyAffected=True/Accepted XBackendTrafficPolicyAffected=True/Accepted",
			"Service shop/cart: LoadBalancerPolicyAffected=True/Accepted SessionPersistencePolicyAffected=True/Accepted XBackendTrafficPolicyAffected=True/Accepted",
		},
	},
	"a policy for a class affects the class": {
		sessionPolicyText("limpet-system/p", onClass, "absoluteTimeout: 1h"),
		[]string{"GatewayClass /limpet: Accepted=True/Accepted SessionPersistencePolicyAffected=True/Accepted"},
	},
	"an XBackend": {
		xbackendOfCart + sessionPolicyText("shop/p", onGateway, "absoluteTimeout: 1h"),
		[]string{"XBackend shop/x @ Gateway web: Accepted=True/Accepted SessionPersistencePolicyAffected=True/Accepted"},
	},
	"an HTTPProxy": {
		proxyOfCart + sessionPolicyText("shop/p", onGateway, "absoluteTimeout: 1h") + loadBalancerText("shop/p", onService, "strategy: Random"),
		[]string{"HTTPProxy shop/proxy: Valid=True/Valid LoadBalancerPolicyAffected=True/Accepted SessionPersistencePolicyAffected=True/Accepted"},
	},
	"a Service that no Gateway leads to is not affected": {
		sessionPolicyText("shop/p", onIdle, "absoluteTimeout: 1h"),
		[]string{"GatewayClass /limpet: Accepted=True/Accepted"},
	},
	"the port of a Service": {
		sessionPolicyText("shop/p", onPort, "absoluteTimeout: 1h") + loadBalancerText("shop/p", onPort, "strategy: Random"),
		[]string{
			"SessionPersistencePolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"LoadBalancerPolicy shop/p @ Gateway web: Accepted=True/Accepted Programmed=True/Programmed",
			"HTTPRoute shop/cart @ web http: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs LoadBalancerPolicyAffected=True/Accepted SessionPersistencePolicyAffected=True/Accepted",
		},
	},
	"a port that the Service has not": {
		sessionPolicyText("shop/p", onNoPort, "absoluteTimeout: 1h"),
		[]string{"SessionPersistencePolicy shop/p @ Service cart none: Accepted=False/TargetNotFound"},
	},
	"a load-balancing policy that no Gateway leads to": {
		loadBalancerText("shop/p", onIdle, "strategy: Random"),
		[]string{"LoadBalancerPolicy shop/p @ Service idle: Accepted=True/Accepted Programmed=False/Pending"},
	},
}

// TestStatusRules checks documents and looks for the conditions that they must get.
//
// requirements: 2C.6, 2C.14, 2C.15, 2C.18, 2C.19, S3, S4, S9, S11, S13, S52, S53, S59, S60, S61, S62
func TestStatusRules(t *testing.T) {
	for name, c := range statusRules {
		t.Run(name, func(t *testing.T) {
			lines := statusLines(t, statusBase+c.documents)
			for _, want := range c.want {
				if !strings.Contains(lines, want+"\n") {
					t.Errorf("no line %q in\n%s", want, lines)
				}
			}
		})
	}
}

const (
	xbackendOfCart = `---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: x, namespace: shop}
spec: {type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: x}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: x, namespace: shop}
spec:
  parentRefs: [{name: web}]
  hostnames: [x.example.com]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: x}]}]
`
	proxyOfCart = `---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: proxy, namespace: shop}
spec: {virtualhost: {fqdn: proxy.example.com}, routes: [{services: [{name: cart, port: 80}]}]}
`
)

const budgetOfCart = `---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackendTrafficPolicy
metadata: {name: p, namespace: shop}
spec: {targetRefs: [{group: "", kind: Service, name: cart}], retryConstraint: {budget: {percent: 33}}}
`

// statusLines checks documents and gives a line for each list of conditions.
func statusLines(t *testing.T, text string) string {
	t.Helper()
	checked, err := compiler.Check([]compiler.Source{{Name: "a.yaml", Data: []byte(text)}}, compiler.Options{Time: now})
	if err != nil || checked.Errors != nil {
		t.Fatal(err, checked)
	}
	var b strings.Builder
	for _, o := range checked.Objects {
		name := fmt.Sprintf("%s %s/%s", o.Kind, o.Metadata.Namespace, o.Metadata.Name)
		switch s := o.Status.(type) {
		case gatewayv1.GatewayStatus:
			fmt.Fprintln(&b, name+conditionLine(s.Conditions))
			for _, l := range s.Listeners {
				fmt.Fprintln(&b, name, "@", string(l.Name)+conditionLine(l.Conditions))
			}
		case gatewayv1.GatewayClassStatus:
			fmt.Fprintln(&b, name+conditionLine(s.Conditions))
		case status.ServiceStatus:
			fmt.Fprintln(&b, name+conditionLine(s.Conditions))
		case status.BackendStatus:
			for _, a := range s.Ancestors {
				fmt.Fprintln(&b, name, "@", referenceText(string(*a.AncestorRef.Kind), a.AncestorRef)+conditionLine(a.Conditions))
			}
		case contourapi.Status:
			var conditions []metav1.Condition
			for _, c := range s.Conditions {
				conditions = append(conditions, c.Condition)
			}
			fmt.Fprintln(&b, name+conditionLine(conditions))
		case gatewayv1.HTTPRouteStatus:
			for _, p := range s.Parents {
				fmt.Fprintln(&b, name, "@", referenceText("", p.ParentRef)+conditionLine(p.Conditions))
			}
		case gatewayv1.PolicyStatus:
			for _, a := range s.Ancestors {
				if a.ControllerName != status.ControllerName {
					t.Errorf("%s: an entry of %s", name, a.ControllerName)
				}
				fmt.Fprintln(&b, name, "@", referenceText(string(*a.AncestorRef.Kind), a.AncestorRef)+conditionLine(a.Conditions))
			}
		}
	}
	return b.String()
}

// TestServiceStatus holds that the rest of a Service's status stays, and that a condition goes with the policies.
//
// requirements: 2C.17, 2C.18, S62, S64
func TestServiceStatus(t *testing.T) {
	const was = "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}, conditions: [{type: Mine, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-01T00:00:00Z'}, " +
		"{type: limpet.dev/SessionPersistencePolicyAffected, status: 'True', reason: Accepted, message: old, lastTransitionTime: '2026-01-02T00:00:00Z'}]}\n"
	base := strings.Replace(statusBase, "metadata: {name: cart, namespace: shop}\nspec: {ports", "metadata: {name: cart, namespace: shop}\n"+was+"spec: {ports", 1)
	for name, c := range map[string]struct{ policy, want, message string }{
		"affected":     {sessionPolicyText("shop/p", onRoute, "absoluteTimeout: 1h"), ": Mine=True/R SessionPersistencePolicyAffected=True/Accepted", "affected by SessionPersistencePolicy shop/p"},
		"not any more": {"", ": Mine=True/R", ""},
	} {
		checked, err := compiler.Check([]compiler.Source{{Name: "a.yaml", Data: []byte(base + c.policy)}}, compiler.Options{Time: now})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(checked.Objects, func(o status.Object) bool { return o.Kind == "Service" && o.Metadata.Name == "cart" })
		if at < 0 {
			t.Fatalf("%s: no status of the Service", name)
		}
		s := checked.Objects[at].Status.(status.ServiceStatus)
		if got := conditionLine(s.Conditions); got != c.want || s.LoadBalancer == nil || checked.Objects[at].APIVersion != "v1" {
			t.Errorf("%s: %q of %+v", name, got, checked.Objects[at])
		}
		if last := s.Conditions[len(s.Conditions)-1]; c.message != "" && (last.Message != c.message || last.LastTransitionTime.Day() != 2) {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

func referenceText(kind string, ref gatewayv1.ParentReference) string {
	text := strings.TrimSpace(kind + " " + string(ref.Name))
	if ref.SectionName != nil {
		text += " " + string(*ref.SectionName)
	}
	return text
}

func conditionLine(conditions []metav1.Condition) string {
	text := ":"
	for _, c := range conditions {
		text += fmt.Sprintf(" %s=%s/%s", strings.TrimPrefix(c.Type, "limpet.dev/"), c.Status, c.Reason)
	}
	return text
}
