package compiler

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/describe"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// TestSessionsWithheldByTarget holds that a rule that a target can't give its session is told of wherever people look: it is left out
// (exit code 3), the policy's status says so, and describe has no session there.
// requirements: 2C.15
func TestSessionsWithheldByTarget(t *testing.T) {
	const httpRoute = "gateway.networking.k8s.io, kind: HTTPRoute, name: "
	for golden, c := range map[string]struct{ policyTarget, namespace, route string }{
		"eg-extension-policy":  {httpRoute + "taken", "shop", "httproute/shop/taken"},
		"istio-no-ports":       {"networking.istio.io, kind: VirtualService, name: shop", "app", "virtualservice/app/shop"},
		"eg-others-objects":    {httpRoute + "other", "other", "httproute/other/other"},
		"eg-own-output":        {httpRoute + "shop", "shop", "httproute/shop/shop"},
		"eg-native-own-output": {httpRoute + "shop", "shop", "httproute/shop/shop"},
		"istio-others-objects": {httpRoute + "other", "other", "httproute/other/other"},
	} {
		input, o := readGolden(t, golden)
		namespace, route, policyTarget := c.namespace, c.route, c.policyTarget
		policy := Source{Name: "policy.yaml", Data: []byte("apiVersion: limpet.dev/v1alpha1\nkind: SessionPersistencePolicy\n" +
			"metadata: {name: zz, namespace: " + namespace + "}\nspec:\n  targetRefs: [{group: " + policyTarget + "}]\n  idleTimeout: 1h\n")}
		checked, err := Check([]Source{input, policy}, o)
		if err != nil {
			t.Fatal(err)
		}
		if checked.Worst() != Refused || !conditionSays(checked, "SessionPersistencePolicy "+namespace+"/zz", "the rule goes without sessions") {
			t.Errorf("%s: %s, and the status does not say it", golden, checked.Worst())
		}
		described, err := Describe([]Source{input, policy}, o, route, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range described.Sessions {
			if s.On || len(s.Fields) > 0 || !strings.Contains(strings.Join(s.Notes, "\n"), "the rule goes without sessions") {
				t.Errorf("%s: on %v, %q", golden, s.On, s.Notes)
			}
		}
		described, err = Describe([]Source{input, policy}, o, "sessionpersistencepolicy/"+namespace+"/zz", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range described.Effects {
			if len(e.Effective) > 0 || !strings.Contains(strings.Join(e.Notes, "\n"), "the rule goes without sessions") {
				t.Errorf("%s: %d effective, %q", golden, len(e.Effective), e.Notes)
			}
		}
	}
}

// conditionSays tells whether a status, as a document, contains a text.
func conditionSays(c *CheckResult, object, text string) bool {
	return slices.ContainsFunc(c.Objects, func(o status.Object) bool {
		document, err := json.Marshal(o.Status)
		return err == nil && o.Kind+" "+o.Metadata.Namespace+"/"+o.Metadata.Name == object && strings.Contains(string(document), text)
	})
}

// TestDescribeCookieBesideItsPath holds that describe says at every object of a session that its cookie does not come back.
//
// requirements: S23
func TestDescribeCookieBesideItsPath(t *testing.T) {
	input, o := readGolden(t, "cookie-path-beside-its-matches")
	for object, path := range map[string]string{
		"httproute/default/inline": "/b", "httproute/default/policy": "/j", "httproute/default/shared": "/xb",
		"xbackend/default/xb": "/xb", "sessionpersistencepolicy/default/policy": "/j",
	} {
		d, err := Describe([]Source{input}, o, object, "")
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, s := range d.Sessions {
			notes = append(notes, s.Notes...)
		}
		for _, e := range d.Effects {
			notes = append(notes, e.Notes...)
		}
		if !strings.Contains(strings.Join(notes, "\n"), `is below "`+path+`"`) {
			t.Errorf("%s: %q", object, notes)
		}
	}
}

// heldCases say what describe shows of fields that do not hold as they are written.
var heldCases = []struct {
	name   string
	target Target
	holds  map[string]string
}{
	{"nobody follows endpoints", TargetEnvoy, map[string]string{"drainTimeout": "10m"}},
	{"Istio", TargetIstio, map[string]string{"identity": "Address", "drainTimeout": "none", "keepUnselected": "0s"}},
	{"Envoy Gateway", TargetEnvoyGateway, map[string]string{"identity": "Address"}},
}

// TestDescribeWhatHolds holds that describe shows what holds on the target, with the reason, and what is written as overridden.
func TestDescribeWhatHolds(t *testing.T) {
	for _, c := range heldCases {
		t.Run(c.name, func(t *testing.T) {
			o := optionsFor(c.target)
			o.AssumeClass = c.target == TargetEnvoy
			d, err := Describe([]Source{{Name: "in.yaml", Data: []byte(heldInput(c.target))}}, o, "httproute/shop/app", "")
			if err != nil || len(d.Sessions) == 0 {
				t.Fatal(d, err)
			}
			for field, want := range c.holds {
				i := slices.IndexFunc(d.Sessions[0].Fields, func(f describe.Field) bool { return f.Name == field })
				f := d.Sessions[0].Fields[i]
				written := f.Object == ""
				if f.Value != want || written != (len(f.Overrides) > 0) {
					t.Errorf("%s is %s, want %s, %+v", field, f.Value, want, f.Overrides)
				}
				if !slices.ContainsFunc(d.Sessions[0].Notes, func(n string) bool { return strings.HasPrefix(n, field+": ") }) {
					t.Errorf("no note on %s: %q", field, d.Sessions[0].Notes)
				}
			}
		})
	}
}

// heldInput is a split with one session whose policy writes all that does not hold everywhere.
func heldInput(target Target) string {
	controller := target.findController()
	if controller == "" {
		controller = "limpet.dev/gateway-controller"
	}
	return `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: ` + string(controller) + `}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: shop}
spec:
  parentRefs: [{name: web}]
  rules:
  - name: app
    backendRefs: [{name: a, port: 80}, {name: b, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: b, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: p, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  sessionName: cart
  identity: Name
  onHostLost: RebalanceWithin
  drainTimeout: 10m
  keepUnselected: 5m
`
}

// TestAddressesAreReported holds that a target that knows nothing of pods says so once for each Gateway, however many routes have
// sessions, and not where the address is what they are meant to be with.
// requirements: 2A.4, S42
func TestAddressesAreReported(t *testing.T) {
	for _, target := range []Target{TargetIstio, TargetEnvoyGateway, TargetPlugin} {
		for written, want := range map[string]int{"": 1, "  identity: Address\n": 0, "  identity: Name\n": 0} {
			input := strings.Replace(heldInput(target), "  identity: Name\n", written, 1)
			for _, name := range []string{"b", "c"} {
				route := strings.Split(heldInput(target), "---\n")[2]
				input += "---\n" + strings.Replace(route, "metadata: {name: app,", "metadata: {name: "+name+",", 1)
			}
			input = strings.Replace(input, "kind: HTTPRoute, name: app}", "kind: Gateway, name: web}", 1)
			result, err := Compile([]Source{{Name: "in.yaml", Data: []byte(input)}}, optionsFor(target))
			if err != nil {
				t.Fatal(err)
			}
			reported := 0
			for _, p := range result.Warnings {
				if strings.HasPrefix(p.Message, "sessions behind it are with addresses: ") && p.Advice && p.Object == "Gateway shop/web" {
					reported++
				}
			}
			if reported != want {
				t.Errorf("%s, %q: told %d times, want %d", target, written, reported, want)
			}
		}
	}
}

// TestUnissuedSessionsAreReported holds that every target says of a listener with plain HTTP that sessions for TLS do not begin there.
func TestUnissuedSessionsAreReported(t *testing.T) {
	for _, name := range Targets() {
		target := Target(name)
		plain := strings.Replace(heldInput(target), "  sessionName: cart\n", "  sessionName: cart\n  issueOn: TLS\n", 1)
		listener := "{name: http, port: 80, protocol: HTTP}"
		secure := strings.Replace(plain, listener, "{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: c}]}}", 1)
		for input, want := range map[string]int{plain: 1, secure: 0} {
			o := optionsFor(target)
			o.AllowEmpty = true
			result, err := Compile([]Source{{Name: "in.yaml", Data: []byte(input)}}, o)
			if err != nil {
				t.Fatal(err)
			}
			reported := 0
			for _, p := range result.Warnings {
				if p.Object == "Gateway shop/web" && p.Advice && strings.Contains(p.Message, "have issueOn: TLS, and it is plain HTTP: no token is issued") {
					reported++
				}
			}
			if reported != want {
				t.Errorf("%s: told %d times, want %d: %v", target, reported, want, result.Warnings)
			}
		}
	}
}
