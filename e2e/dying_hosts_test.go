package e2e

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// dying is a way for k of ten hosts to fail.
type dying struct {
	scenario string // as docs/reliability.md has it
	name     string
	hosts    int // how many of the ten
	pods     []*harness.Backend
	fail     func(t *testing.T)
	// strict is what sessions get whose host fails and which must not move.
	strict int
	// slow hosts fail by the route's timeout only.
	slow bool
}

// Routes and tries that have a time limit have this one: long for a busy machine, short for a test.
const slowTimeout = "2s"

// variants are what guards a session: what limpet compiles; a policy's health checks or its outlier detection on top, as
// docs/operations.md says; a route that retries all errors; and onHostLost: Fail.
var variants = []string{"plain", "checked", "ejecting", "retrying", "strict"}

// waysToDie starts ten hosts for each way.
func waysToDie(t *testing.T) []*dying {
	t.Helper()
	var all []*dying
	for _, d := range []*dying{
		{scenario: "one of ten hosts killed (SIGKILL)", name: "killed-1", hosts: 1, strict: 521},
		{scenario: "nine of ten hosts killed (SIGKILL)", name: "killed-9", hosts: 9, strict: 521},
		{scenario: "one of ten hosts refuses connections", name: "refuses-1", hosts: 1, strict: 521},
		{scenario: "nine of ten hosts refuse connections", name: "refuses-9", hosts: 9, strict: 521},
		{scenario: "one of ten hosts resets connections", name: "resets-1", hosts: 1, strict: 521},
		{scenario: "nine of ten hosts reset connections", name: "resets-9", hosts: 9, strict: 521},
		{scenario: "one of ten hosts answers 503", name: "declines-1", hosts: 1, strict: 503},
		{scenario: "nine of ten hosts answer 503", name: "declines-9", hosts: 9, strict: 503},
		{scenario: "one of ten hosts hangs (SIGSTOP)", name: "hangs-1", hosts: 1, strict: 504, slow: true},
		{scenario: "nine of ten hosts hang (SIGSTOP)", name: "hangs-9", hosts: 9, strict: 504, slow: true},
	} {
		d.start(t)
		all = append(all, d)
	}
	return all
}

// start starts the hosts; the first of them will fail.
func (d *dying) start(t *testing.T) {
	t.Helper()
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("%s-%d", d.name, i))
	}
	how, _, _ := strings.Cut(d.name, "-")
	if how != "killed" && how != "hangs" {
		d.pods = harness.Backends(t, names...)
		d.fail = func(*testing.T) { breakAll(d.pods[:d.hosts], how) }
		return
	}
	process := harness.StartHosts(t, names[:d.hosts]...)
	d.pods = append(process.Backends, harness.Backends(t, names[d.hosts:]...)...)
	d.fail = func(*testing.T) { process.Kill() }
	if how == "hangs" {
		d.fail = func(t *testing.T) {
			if err := process.Hang(); err != nil {
				t.Error(err)
			}
		}
	}
}

func breakAll(pods []*harness.Backend, how string) {
	for _, pod := range pods {
		switch how {
		case "refuses":
			pod.Close()
		case "resets":
			pod.Break(harness.FaultReset)
		case "declines":
			pod.Break(harness.FaultDeclines)
		}
	}
}

// service is the Service of a variant; all variants have the same hosts.
func (d *dying) service(variant string) string { return d.name + "-" + variant }

func (d *dying) cluster(variant string) string {
	return "service/default/" + d.service(variant) + "/80"
}

// deployDying deploys a route for each way to die and each variant.
func deployDying(t *testing.T, ways []*dying) *harness.Envoy {
	t.Helper()
	documents := harness.Documents{More: strictServices(ways)}
	for _, d := range ways {
		route := harness.Route{Name: d.name}
		for _, variant := range variants {
			name := d.service(variant)
			documents.Services = append(documents.Services, harness.Service{Name: name, Backends: d.pods})
			rule := harness.CookieRule(name, name)
			rule.Tries = d.tries(variant)
			route.Rules = append(route.Rules, rule)
		}
		documents.Routes = append(documents.Routes, route)
	}
	checks, outliers := documentedGuards(t)
	documents.More += guard(t, ways, "checked", map[string]any{"healthCheck": checks})
	documents.More += guard(t, ways, "ejecting", map[string]any{"outlierDetection": outliers})
	return harness.Run(t, harness.Deployment{Documents: documents, Workers: 2})
}

// strictServices is a policy that keeps the sessions of the Services for the variant "strict" on their hosts.
func strictServices(ways []*dying) string {
	var refs []string
	for _, d := range ways {
		refs = append(refs, fmt.Sprintf(`{group: "", kind: Service, name: %s}`, d.service("strict")))
	}
	return fmt.Sprintf(`
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: strict, namespace: default}
spec:
  targetRefs: [%s]
  onHostLost: Fail
  failStatus: 521
`, strings.Join(refs, ", "))
}

// documentedGuards are the health checks and the outlier detection in docs/operations.md.
func documentedGuards(t *testing.T) (checks, outliers any) {
	t.Helper()
	for _, block := range harness.Blocks(t, "docs/operations.md") {
		var policy struct {
			Spec map[string]any `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(block.Text), &policy); err != nil {
			continue // not YAML
		}
		if policy.Spec["healthCheck"] != nil && policy.Spec["outlierDetection"] != nil {
			return policy.Spec["healthCheck"], policy.Spec["outlierDetection"]
		}
	}
	t.Fatal("docs/operations.md has no policy with health checks and outlier detection")
	return nil, nil
}

// guard is a policy for a variant's Services.
func guard(t *testing.T, ways []*dying, variant string, spec map[string]any) string {
	t.Helper()
	var targets []map[string]any
	for _, d := range ways {
		targets = append(targets, map[string]any{"group": "", "kind": "Service", "name": d.service(variant)})
	}
	spec["targetRefs"] = targets
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "limpet.dev/v1alpha1", "kind": "LoadBalancerPolicy",
		"metadata": map[string]any{"name": variant, "namespace": "default"}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	return "---\n" + string(text)
}

// tries are the fields of a variant's rule: one retries whatever may be retried, on all ten hosts.
func (d *dying) tries(variant string) []string {
	switch {
	case variant == "retrying":
		return []string{"timeouts: {backendRequest: " + slowTimeout + "}", "retry: {codes: [500, 502, 503, 504], attempts: 9}"}
	case d.slow:
		return []string{"timeouts: {request: " + slowTimeout + "}"}
	default:
		return nil
	}
}

// TestHostsThatDie: while hosts fail under load, in every way and guarded in every way, sessions leave them and no
// others; where retries allow it no client sees it; and after its first failed answer no request is pinned
// to a failed host. Strict sessions stay and get their status.
func TestHostsThatDie(t *testing.T) {
	t.Parallel()
	ways := waysToDie(t)
	envoy := deployDying(t, ways)
	for _, d := range ways {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			newDeath(t, envoy, d).run(t)
		})
	}
}
