package compiler

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// sampleFields are writings of each field, good ones and bad ones, for whole policies to be made of.
var sampleFields = map[string][]string{
	"disabled":               {"true", "false", "false"},
	"type":                   {"Cookie", "Cookie", "Header", "header", "Query"},
	"sessionName":            {"cart", "x-cart", "__Host-cart", "__Secure-cart", "__Http-cart", `"a b;c"`, `""`, "cookie", "host"},
	"header":                 {"{name: x-cart}", "{name: x-end}", "{name: host}", `{name: ":path"}`, "{name: x-limpet-pin}"},
	"absoluteTimeout":        {"1h", "8h", "87600h", "87601h", "0s", "1500ms", "1d"},
	"absoluteTimeoutSeconds": {"3600", "1", "0", "315360000", "315360001"},
	"idleTimeout":            {"20m", "1h", "9h", "0s", "1h1h1h1h1h"},
	"idleTimeoutSeconds":     {"600", "7200", "0", "-1"},
	"renewAfterPercent":      {"0", "50", "99", "100", "-1"},
	"drainTimeout":           {"1m", "0s", "1.5h"},
	"identity":               {"Pod", "Name", "Address", "UID"},
	"onHostLost":             {"Rebalance", "Fail", "RebalanceWithin", "Wait"},
	"failStatus":             {"410", "599", "200", "600"},
	"endSessionHeader":       {"x-end", "x-cart", "set-cookie", `"a b"`},
	"issueOn":                {"Any", "TLS", "HTTPS"},
	"envelope":               {"true", "false", "false"},
	"revealHost":             {"true", "false"},
	"forward":                {"true", "false"},
}

// sampleMembers are the same for the fields of cookie, cache and revocation.
var sampleMembers = map[string]map[string][]string{
	"cookie": {
		"lifetimeType": {"Session", "Permanent", "permanent"}, "path": {"/", "/cart", "cart", "'/;evil=1'"},
		"domain": {"a.example", ".a", "a_b"}, "sameSite": {"Strict", "Lax", "None", "none"}, "secure": {"true", "true", "false"},
		"httpOnly": {"true", "false"}, "partitioned": {"true", "false"}, "crossSite": {"true", "false"},
		"attributes": {"[A=1]", "[Priority=High, B]", "[Path=/]", "[A, a]", "['A=1; B']"},
	},
	"cache": {"control": {"Keep", "Private", "NoStore", "Share", "Public"}, "skipCacheable": {"true", "false"}, "unsafeMethodsOnly": {"true", "false"}},
	"revocation": {
		"epoch": {"0", "7", "-1", "4294967296"}, "notBefore": {`"2026-01-01T00:00:00Z"`, `"2026-02-30T00:00:00Z"`, `"now"`},
		"sessions": {
			`["0102030405060708 until 2026-11-22T20:00:00Z", "ffffffffffffffff"]`, `["0000000000000000"]`, `["0102030405060708 until 2026-02-30T20:00:00Z"]`,
			`["0102030405060708", "0102030405060708"]`, `["010203040506070A"]`,
		},
		"hosts": {
			`["10.0.0.1:8080 before 2026-11-22T20:00:00Z", "[2001:db8::1]:443 before 2026-11-22T20:00:00+01:00"]`,
			`["10.0.0.1:8080"]`, `["10.0.0.1:0 before 2026-11-22T20:00:00Z"]`, `["10.0.0.1:80 before 2026-02-30T20:00:00Z"]`,
		},
		"backends": {
			`["shop/cart:80 before 2026-11-22T20:00:00Z", "xbackend/shop/cart.v2:8080 before 2026-11-22T20:00:00+01:00"]`,
			`["shop/cart:80 before 2026-02-30T20:00:00Z"]`, `["shop/cart before 2026-11-22T20:00:00Z"]`, `["cart:80 before 2026-11-22T20:00:00Z"]`,
			`["shop/cart:0 before 2026-11-22T20:00:00Z"]`, `["shop/cart:80"]`, `["shop/cart:80 before 2026-11-22T20:00:00Z", "shop/cart:80 before 2026-11-22T20:00:00Z"]`,
		},
	},
}

// randomBlock makes a block of a few fields. Most are good, or hardly any whole policy would be.
func randomBlock(r *rand.Rand) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(sampleFields)) {
		if r.IntN(7) == 0 {
			parts = append(parts, name+": "+pickValue(r, sampleFields[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sampleMembers)) {
		if r.IntN(5) > 0 {
			continue
		}
		var inner []string
		for _, member := range slices.Sorted(maps.Keys(sampleMembers[name])) {
			if r.IntN(4) == 0 {
				inner = append(inner, member+": "+pickValue(r, sampleMembers[name][member]))
			}
		}
		parts = append(parts, name+": {"+strings.Join(inner, ", ")+"}")
	}
	return strings.Join(parts, ", ")
}

// pickValue takes one of the first, good writings three times out of four.
func pickValue(r *rand.Rand, values []string) string {
	if r.IntN(4) > 0 {
		return values[r.IntN(min(2, len(values)))]
	}
	return values[r.IntN(len(values))]
}

// randomTargets makes targets, now and then of a kind, group or number that can't be.
func randomTargets(r *rand.Rand) string {
	refs := []string{onRoute, onRule, onGateway, onService, onIdle}
	r.Shuffle(len(refs), func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
	switch r.IntN(24) {
	case 0:
		return "targetRef: " + refs[0] + ", targetRefs: [" + refs[1] + "]"
	case 1:
		return "targetRefs: [" + refs[0] + ", " + refs[0] + "]"
	case 2:
		return "targetRefs: [{group: example.com, kind: HTTPRoute, name: cart}]"
	case 3:
		return "targetRefs: [{group: '', kind: Service, name: cart, sectionName: http}]"
	case 4, 5, 6, 7:
		return "targetRef: " + refs[0]
	default:
		return "targetRefs: [" + strings.Join(refs[:1+r.IntN(3)], ", ") + "]"
	}
}

// randomPolicy makes a policy with a plain spec, default and override, or some of them.
func randomPolicy(r *rand.Rand, name string) string {
	parts := []string{randomTargets(r)}
	if b := randomBlock(r); b != "" && r.IntN(3) > 0 {
		parts = append(parts, b)
	}
	for _, name := range []string{"default", "override"} {
		if r.IntN(2) == 0 {
			parts = append(parts, name+": {"+randomBlock(r)+"}")
		}
	}
	return fmt.Sprintf("---\napiVersion: limpet.dev/v1alpha1\nkind: SessionPersistencePolicy\nmetadata: {name: %s, namespace: shop}\nspec: {%s}\n",
		name, strings.Join(parts, ", "))
}

// TestWholePoliciesAreJudgedAlike makes whole policies of several blocks by chance, of a fixed seed, and compares who
// refuses them: an API server with the CRD, or the compiler where documents count as admitted. What both take, in
// whatever company, compiles to a plugin configuration that is good.
func TestWholePoliciesAreJudgedAlike(t *testing.T) {
	const each = 44
	rounds := sized(15, 50)
	r := rand.New(rand.NewPCG(5, 1619))
	accepted := 0
	for range rounds {
		policies := map[string]string{}
		for i := range each {
			name := fmt.Sprintf("p%02d", i)
			policies[name] = randomPolicy(r, name)
		}
		byServer, byCompiler := refusedByServer(t, policies), refusedByCompiler(t, policies)
		for _, name := range slices.Sorted(maps.Keys(policies)) {
			if (byServer[name] == "") != (byCompiler[name] == "") {
				t.Errorf("a server says %q, the compiler %q:\n%s", byServer[name], byCompiler[name], policies[name])
			}
			if byServer[name] != "" {
				delete(policies, name)
			}
		}
		accepted += len(policies)
		compileTogether(t, policies)
	}
	if accepted < rounds*each/10 || accepted > rounds*each*9/10 {
		t.Errorf("%d of %d policies are accepted, which tells little", accepted, rounds*each)
	}
}

// refusedByServer gives what the CRD says of each policy that it refuses.
func refusedByServer(t *testing.T, policies map[string]string) map[string]string {
	t.Helper()
	_, err := Compile(joinPolicies(policies), Options{Target: TargetPlugin, Strict: true, FailOn: Refused})
	var problems Errors
	if err != nil && !errors.As(err, &problems) {
		t.Fatal(err)
	}
	return indexProblems(slices.DeleteFunc(problems, func(p Problem) bool { return !p.LeftOut }))
}

// refusedByCompiler gives the same for documents that count as admitted.
func refusedByCompiler(t *testing.T, policies map[string]string) map[string]string {
	t.Helper()
	result, err := Compile(joinPolicies(policies), Options{Target: TargetPlugin, AssumeAdmitted: true})
	if err != nil {
		t.Fatal(err)
	}
	var invalid []Problem
	for _, w := range result.Warnings {
		if w.Reason == "Invalid" {
			invalid = append(invalid, w)
		}
	}
	return indexProblems(invalid)
}

func indexProblems(problems []Problem) map[string]string {
	problemsOf := map[string]string{}
	for _, p := range problems {
		name := strings.TrimPrefix(p.Object, "SessionPersistencePolicy shop/")
		problemsOf[name] += p.Path + ": " + p.Message + "; "
	}
	return problemsOf
}

func joinPolicies(policies map[string]string) []Source {
	sources := []Source{{Name: "base.yaml", Data: []byte(statusBase)}}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		sources = append(sources, Source{Name: name + ".yaml", Data: []byte(policies[name])})
	}
	return sources
}

// compileTogether compiles accepted policies, all of them in each other's way.
func compileTogether(t *testing.T, policies map[string]string) {
	t.Helper()
	result, err := Compile(joinPolicies(policies), Options{Target: TargetPlugin})
	if err != nil {
		t.Errorf("accepted policies do not compile together: %v", err)
		return
	}
	if _, faults := policyconfig.Parse(string(result.PluginJSON)); faults != nil {
		t.Errorf("the plugin configuration is no good: %v", faults)
	}
}
