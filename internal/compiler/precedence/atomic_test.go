package precedence

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// policyText is a policy for a target, with these lines in its spec.
func policyText(name, target string, lines ...string) string {
	kind, targetName, _ := strings.Cut(target, "/")
	group := "gateway.networking.k8s.io"
	if kind == "Service" {
		group = `""`
	}
	return fmt.Sprintf("apiVersion: limpet.dev/v1alpha1\nkind: SessionPersistencePolicy\nmetadata: {name: %s, namespace: shop}\n"+
		"spec:\n  targetRefs: [{group: %s, kind: %s, name: %s}]\n  %s\n", name, group, kind, targetName, strings.Join(lines, "\n  "))
}

const ofRoute, ofService = "absoluteTimeout: 1h", "idleTimeout: 5m"

func policyOnGateway(strategy string) string {
	return policyText("gateway", "Gateway/web", "strategy: "+strategy, "absoluteTimeout: 8h", "sessionName: corp")
}

// The policies of a route and a Service without a strategy.
var (
	routePolicy   = policyText("route", "HTTPRoute/cart", ofRoute)
	servicePolicy = policyText("service", "Service/cart", ofService)
)

var strategyCases = []struct {
	name      string
	policies  []string
	want      string
	displaced int
}{
	{"patch defaults fill in", []string{policyOnGateway("PatchDefaults"), routePolicy}, "absoluteTimeout=1h sessionName=corp", 0},
	{"atomic defaults give way", []string{policyOnGateway("AtomicDefaults"), routePolicy}, "absoluteTimeout=1h", 1},
	{"atomic defaults alone", []string{policyOnGateway("AtomicDefaults")}, "absoluteTimeout=8h sessionName=corp", 0},
	{"patch overrides", []string{policyOnGateway("PatchOverrides"), routePolicy, servicePolicy}, "absoluteTimeout=8h idleTimeout=5m sessionName=corp", 0},
	{"atomic overrides", []string{policyOnGateway("AtomicOverrides"), routePolicy, servicePolicy}, "absoluteTimeout=8h sessionName=corp", 2},
	{
		"the higher one's strategy counts, a patch",
		[]string{policyOnGateway("PatchDefaults"), policyText("route", "HTTPRoute/cart", "strategy: AtomicDefaults", ofRoute)},
		"absoluteTimeout=1h sessionName=corp", 0,
	},
	{
		"the higher one's strategy counts, an atomic override",
		[]string{policyOnGateway("AtomicOverrides"), policyText("route", "HTTPRoute/cart", "strategy: AtomicOverrides", "idleTimeout: 1m")},
		"absoluteTimeout=8h sessionName=corp", 1,
	},
	{
		"a default above an atomic override",
		[]string{
			policyText("gateway", "Gateway/web", "strategy: PatchDefaults", "sessionName: corp"),
			policyText("route", "HTTPRoute/cart", "strategy: AtomicOverrides", ofRoute), servicePolicy,
		},
		"absoluteTimeout=1h sessionName=corp", 1,
	},
	{
		"what is displaced displaces nothing",
		[]string{
			policyText("class", "Gateway/web", "strategy: AtomicDefaults", "sessionName: corp"),
			policyText("route", "HTTPRoute/cart", "strategy: AtomicOverrides", ofRoute), servicePolicy,
		},
		"absoluteTimeout=1h", 2,
	},
	{
		"two on one target: the first by name",
		[]string{
			policyOnGateway("AtomicDefaults"), policyText("other", "Gateway/web", "strategy: AtomicDefaults", ofService),
		},
		"absoluteTimeout=8h sessionName=corp", 1,
	},
}

// TestStrategies holds the four strategies of GEP-713: what is effective where policies on a Gateway, a route and a Service
// meet, each FIELD=VALUE; and how many blocks are displaced as a whole.
//
// requirements: 2C.8, 2C.10, 2C.12, S7
func TestStrategies(t *testing.T) {
	for _, c := range strategyCases {
		t.Run(c.name, func(t *testing.T) {
			e := readDocumentSet(t, []byte(strings.Join(c.policies, "---\n"))).
				mergeOn(parseTrafficPath(t, "gateway=shop/web route=HTTPRoute/shop/cart backends=Service/shop/cart"))
			var got []string
			for _, name := range []string{"absoluteTimeout", "idleTimeout", "sessionName"} {
				if f := e.Field(name); f.Level != BuiltIn {
					got = append(got, name+"="+f.Text)
				}
			}
			displaced := 0
			for _, i := range e.Ignored {
				if i.Rule == "S7" || i.Rule == "S13" {
					displaced++
				}
			}
			if text := strings.Join(got, " "); text != c.want || displaced != c.displaced || !e.On {
				t.Errorf("got %s and %d displaced, want %s and %d; ignored %+v", text, displaced, c.want, c.displaced, e.Ignored)
			}
		})
	}
}

// TestStrategyStandsAlone: a strategy is for the plain fields, and one of the four.
func TestStrategyStandsAlone(t *testing.T) {
	for lines, want := range map[string]string{
		"strategy: PatchDefaults\n  default: {sessionName: a}":     "spec.strategy: Forbidden",
		"strategy: AtomicOverrides\n  override: {idleTimeout: 1m}": "spec.strategy: Forbidden",
		"strategy: Patch\n  sessionName: a":                        `spec.strategy: Unsupported value: "Patch"`,
		"strategy: PatchDefaults\n  sessionName: a":                "",
	} {
		var p v1alpha1.SessionPersistencePolicy
		if err := yaml.UnmarshalStrict([]byte(policyText("p", "Gateway/web", lines)), &p); err != nil {
			t.Fatal(err)
		}
		errs := CheckPolicy(object.Origin{}, &p.Spec)
		if want == "" && len(errs) == 0 {
			continue
		}
		if got := errs.Error(); want == "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", lines, got, want)
		}
	}
}
