package compiler

import (
	"errors"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Values that no API server would let through in most places, by their kind.
var (
	oddTexts = []any{
		"", "x", "a b;c\r\nSet-Cookie: evil=1", "/;evil=1", "/../..", "*", "-1h", "99999h99999h", "0s", "Header", "Service", "1.2.3.4:80", "::1%eth0",
		strings.Repeat("n", 5000), "\x00", "ä", "__Host-x", ":path", "host", "x-limpet-pin", "{{.}}", "../../etc", "0", "true",
	}
	oddNumbers = []any{0, -1, 1, 65536, 2147483648, int64(9223372036854775807), 1.5, 1e300}
)

// makeOddValue gives one to stand in for a value, mostly of the value's own kind.
func makeOddValue(r *rand.Rand, was any) any {
	switch was.(type) {
	case string:
		if r.IntN(4) > 0 {
			return oddTexts[r.IntN(len(oddTexts))]
		}
	case float64, int64:
		if r.IntN(4) > 0 {
			return oddNumbers[r.IntN(len(oddNumbers))]
		}
	}
	deep := any("bottom")
	for range 40 {
		deep = map[string]any{"a": []any{deep}}
	}
	all := []any{nil, true, false, "x", -1, deep, []any{}, []any{nil}, []any{[]any{}}, []any{"x"}, []any{map[string]any{}}, map[string]any{}, map[string]any{"name": nil}, map[string]any{"unknown": 1}}
	return all[r.IntN(len(all))]
}

// mutateValue puts an oddity somewhere into a value, takes something out, or has it there twice.
func mutateValue(r *rand.Rand, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 || r.IntN(20) == 0 {
			v[[]string{"unknown", "name", "spec", "kind", "port"}[r.IntN(5)]] = makeOddValue(r, nil)
			return v
		}
		name := slices.Sorted(maps.Keys(v))[r.IntN(len(v))]
		if r.IntN(10) == 0 {
			delete(v, name)
			return v
		}
		v[name] = mutateValue(r, v[name])
		return v
	case []any:
		if len(v) == 0 || r.IntN(20) == 0 {
			return append(v, makeOddValue(r, nil))
		}
		i := r.IntN(len(v))
		if r.IntN(10) == 0 {
			return append(v, v[i])
		}
		v[i] = mutateValue(r, v[i])
		return v
	default:
		return makeOddValue(r, value)
	}
}

// makeOddDocument gives a document with an oddity or two, mostly below its spec; "" for what is no object.
func makeOddDocument(t *testing.T, r *rand.Rand, document string) string {
	t.Helper()
	var fields map[string]any
	if yaml.Unmarshal([]byte(document), &fields) != nil || fields == nil {
		return ""
	}
	for range 1 + r.IntN(2) {
		if spec, has := fields["spec"]; has && r.IntN(10) > 0 {
			fields["spec"] = mutateValue(r, spec)
			continue
		}
		mutateValue(r, fields)
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAssumeAdmittedHostile takes the golden inputs for documents that an API server has admitted after oddities have
// been put into them, by chance of a fixed seed. None may do harm: see checkHarmless.
func TestAssumeAdmittedHostile(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 1619))
	compiled, tried := 0, 0
	for _, g := range loadGoldens(t) {
		for range 6 {
			documents := strings.Split(string(g.source.Data), "\n---\n")
			at := r.IntN(len(documents))
			text := makeOddDocument(t, r, documents[at])
			if text == "" {
				continue
			}
			documents[at] = text
			tried++
			if checkHarmless(t, []byte(strings.Join(documents, "\n---\n"))) {
				compiled++
			}
		}
	}
	if tried < 1000 || compiled < tried/5 || compiled > tried*9/10 {
		t.Errorf("%d of %d inputs compile, which tells little", compiled, tried)
	}
}

// checkHarmless compiles, checks and describes documents as admitted ones: nothing panics, what is wrong is said as
// such, and what comes out is a configuration that the filter and Envoy's own rules take. It reports whether anything
// came out.
func checkHarmless(t *testing.T, text []byte) (compiled bool) {
	t.Helper()
	defer func() {
		if fault := recover(); fault != nil {
			t.Errorf("panic: %v\n%s\n%s", fault, text, debug.Stack())
		}
	}()
	sources := []Source{{Name: "in.yaml", Data: text}}
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w"}, AssumeAdmitted: true}
	result, err := Compile(sources, o)
	var problems Errors
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "the Envoy configuration is not valid: "): // the last fence
	case err != nil && !errors.As(err, &problems):
		t.Errorf("%v\n%s", err, text)
	case err == nil:
		compiled = true
		if _, faults := policyconfig.Parse(string(result.PluginJSON)); faults != nil {
			t.Errorf("the plugin configuration is no good: %v\n%s", faults, text)
		}
	}
	if _, err := Check(sources, o); err != nil {
		t.Errorf("check: %v\n%s", err, text)
	}
	_, _ = Describe(sources, o, "httproute/cart", "") // says what is wrong, or that there is none
	return compiled
}

// FuzzAssumeAdmitted compiles anything as if an API server had admitted it.
func FuzzAssumeAdmitted(f *testing.F) {
	for _, g := range loadGoldens(f) {
		f.Add(g.source.Data)
	}
	for _, c := range hostileDocuments {
		f.Add([]byte(statusBase + c.document))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 64<<10 {
			checkHarmless(t, data)
		}
	})
}

// hostileDocuments are documents that no API server can have admitted, and what is said of them: in a refusal, or for what is left
// out, in a warning.
var hostileDocuments = map[string]struct{ document, want string }{
	"a number for a text":       {policyHead + "{targetRefs: [{group: 1, kind: Service, name: cart}]}", "spec.targetRefs.group: Invalid value: must be of type"},
	"a text for a number":       {policyHead + "{targetRefs: [" + onRoute + "], failStatus: many}", "spec.failStatus: Invalid value: must be of type int32"},
	"a list for an object":      {policyHead + "[]", "spec: Invalid value: must be of type"},
	"nothing for a spec":        {policyHead + "null", "write exactly one of targetRefs and targetRef"},
	"a huge number":             {policyHead + "{targetRefs: [" + onRoute + "], absoluteTimeoutSeconds: 9223372036854775807}", "spec.absoluteTimeoutSeconds: Invalid value"},
	"a number beyond any":       {policyHead + "{targetRefs: [" + onRoute + "], absoluteTimeoutSeconds: 1e300}", "spec.absoluteTimeoutSeconds: Invalid value"},
	"a negative epoch":          {policyHead + "{targetRefs: [" + onRoute + "], revocation: {epoch: -1}}", "spec.revocation.epoch: Invalid value"},
	"an injected attribute":     {policyHead + "{targetRefs: [" + onRoute + "], cookie: {path: '/;evil=1'}}", "spec.cookie.path: Invalid value"},
	"an injected line":          {policyHead + `{targetRefs: [` + onRoute + `], sessionName: "a\r\nSet-Cookie: b"}`, "spec.sessionName: Invalid value"},
	"a header of the proxy's":   {policyHead + "{targetRefs: [" + onRoute + "], type: Header, header: {name: x-limpet-pin}}", "x-limpet-pin"},
	"two forms of one field":    {policyHead + "{targetRefs: [" + onRoute + "], idleTimeout: 1m, idleTimeoutSeconds: 60}", "may not be set together with idleTimeout"},
	"a field that is unknown":   {policyHead + "{targetRefs: [" + onRoute + "], sessionname: a}", "spec.sessionname: "},
	"a target without a name":   {policyHead + "{targetRefs: [{group: '', kind: Service}]}", "is no target"},
	"a kind in a wrong group":   {policyHead + "{targetRefs: [{group: example.com, kind: Service, name: cart}]}", "is no target"},
	"seventeen targets":         {policyHead + "{targetRefs: [" + strings.Repeat(onRoute+",", 17) + "]}", "Too many: 17"},
	"a policy without a name":   {strings.Replace(policyHead, "name: p, ", "", 1) + "{targetRefs: [" + onRoute + "]}", "metadata.name: Required value"},
	"metadata that is a list":   {strings.Replace(policyHead, "{name: p, namespace: shop}", "[a]", 1) + "{}", "metadata: Required value"},
	"a list of policies inside": {strings.Replace(policyHead, "spec: ", "items: ", 1) + "[{}]", "items: "},
	"deep nesting":              {policyHead + strings.Repeat("{default: ", 90) + "{}" + strings.Repeat("}", 90), "spec.default.default: "},
	"a route's odd session":     {hostileRoute("{sessionName: [a]}"), "sessionPersistence"},
	"a route's odd timeout":     {hostileRoute("{sessionName: a, absoluteTimeout: -1h}"), "absoluteTimeout"},
	"a route's odd name":        {hostileRoute(`{sessionName: "a b;c"}`), "sessionName: Invalid value"},
	"a budget beyond 100":       {strings.Replace(budgetOfCart, "33", "3300", 1), "percent"},
	"a strategy that is a list": {balancerHead + "{targetRefs: [" + onRoute + "], strategy: [Random]}", "spec.strategy: Invalid value: must be of type"},
	"hashes that are texts":     {balancerHead + "{targetRefs: [" + onRoute + "], strategy: RequestHash, requestHashPolicies: [x]}", "spec.requestHashPolicies"},
	"a port that wraps":         {hostileGateway("65616"), "spec.listeners[0].port: Invalid value: 65616: must be between 1 and 65535"},
	"a weight below nothing":    {strings.Replace(hostileRoute("{}"), "port: 80}", "port: 80, weight: -1}", 1), "spec.rules[0].backendRefs[0].weight: Invalid value: -1"},
	"a name with a slash":       {strings.Replace(hostileRoute("{}"), "name: odd", "name: cart/rule/0", 1), "metadata.name: Invalid value"},
	"a namespace with a slash":  {strings.Replace(hostileRoute("{}"), "namespace: shop", "namespace: a/b", 1), "metadata.namespace: Invalid value"},
	"a host that is a number":   {"---\napiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: p}\nspec: {virtualhost: {fqdn: 1}, routes: []}\n", "spec.virtualhost.fqdn: Invalid value"},
}

const balancerHead = "---\napiVersion: limpet.dev/v1alpha1\nkind: LoadBalancerPolicy\nmetadata: {name: p, namespace: shop}\nspec: "

func hostileGateway(port string) string {
	return "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: odd, namespace: shop}\n" +
		"spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: " + port + "}]}\n"
}

func hostileRoute(session string) string {
	return "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: odd, namespace: shop}\n" +
		"spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: cart, port: 80}], sessionPersistence: " + session + "}]}\n"
}

// TestHostileDocumentsAreReported compiles each as admitted, and wants what is wrong to be said.
func TestHostileDocumentsAreReported(t *testing.T) {
	for name, c := range hostileDocuments {
		t.Run(name, func(t *testing.T) {
			text := []byte(statusBase + c.document)
			checkHarmless(t, text)
			result, err := Compile([]Source{{Name: "in.yaml", Data: text}}, Options{Target: TargetPlugin, AssumeAdmitted: true})
			reported := ""
			if err != nil {
				reported = err.Error()
			} else {
				reported = warningText(result.Warnings)
			}
			if !strings.Contains(reported, c.want) {
				t.Errorf("nothing says %q:\n%s", c.want, reported)
			}
		})
	}
}
