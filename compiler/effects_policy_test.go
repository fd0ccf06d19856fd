package compiler

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// settingEffects are two writings for each field of a SessionPersistencePolicy's block that differ in that field
// alone, or in its being there. What a block writes is what the session has, so the two must compile to different
// outputs in each of the three blocks.
var settingEffects = map[string][2]string{
	"disabled":               {"disabled: false", "disabled: true"},
	"type":                   {"type: Cookie", "type: Header"},
	"sessionName":            {"sessionName: a", "sessionName: b"},
	"header.name":            {"type: Header, header: {name: x-a}", "type: Header, header: {name: x-b}"},
	"absoluteTimeout":        {"absoluteTimeout: 1h", "absoluteTimeout: 2h"},
	"absoluteTimeoutSeconds": {"absoluteTimeoutSeconds: 60", "absoluteTimeoutSeconds: 61"},
	"idleTimeout":            {"idleTimeout: 1h", "idleTimeout: 2h"},
	"idleTimeoutSeconds":     {"idleTimeoutSeconds: 60", "idleTimeoutSeconds: 61"},
	"renewAfterPercent":      {"idleTimeout: 1h, renewAfterPercent: 10", "idleTimeout: 1h, renewAfterPercent: 11"},
	"keepUnselected":         {"forward: false", "forward: false, keepUnselected: 1m"},
	"drainTimeout":           {"forward: false", "forward: false, drainTimeout: 1m"},
	"cookie.lifetimeType":    {"absoluteTimeout: 1h, cookie: {lifetimeType: Session}", "absoluteTimeout: 1h, cookie: {lifetimeType: Permanent}"},
	"cookie.path":            {"cookie: {path: /a}", "cookie: {path: /b}"},
	"cookie.domain":          {"cookie: {domain: a.example}", "cookie: {domain: b.example}"},
	"cookie.sameSite":        {"cookie: {sameSite: Lax}", "cookie: {sameSite: None}"},
	"cookie.secure":          {"cookie: {secure: true}", "cookie: {secure: false}"},
	"cookie.httpOnly":        {"cookie: {httpOnly: true}", "cookie: {httpOnly: false}"},
	"cookie.partitioned":     {"cookie: {partitioned: true}", "cookie: {partitioned: false}"},
	"cookie.attributes[]":    {"cookie: {attributes: [A=1]}", "cookie: {attributes: [A=2]}"},
	"identity":               {"identity: Address", "identity: Name"},
	"onHostLost":             {"onHostLost: Rebalance", "onHostLost: Fail"},
	"failStatus":             {"onHostLost: Fail, failStatus: 410", "onHostLost: Fail, failStatus: 411"},
	"endSessionHeader":       {"endSessionHeader: x-a", "endSessionHeader: x-b"},
	"issueOn":                {"issueOn: Any", "issueOn: TLS"},
	"cache.control":          {"cache: {control: Private}", "cache: {control: NoStore}"},
	"cache.skipCacheable":    {"cache: {skipCacheable: true}", "cache: {skipCacheable: false}"},
	"cache.unsafeMethodsOnly": {
		"cache: {unsafeMethodsOnly: true}", "cache: {unsafeMethodsOnly: false}",
	},
	"revocation.epoch":      {"revocation: {epoch: 1}", "revocation: {epoch: 2}"},
	"revocation.notBefore":  {`revocation: {notBefore: "2026-01-01T00:00:00Z"}`, `revocation: {notBefore: "2026-01-02T00:00:00Z"}`},
	"revocation.sessions[]": {`revocation: {sessions: ["0102030405060708 until 2026-11-22T20:00:00Z"]}`, `revocation: {sessions: ["0102030405060709 until 2026-11-22T20:00:00Z"]}`},
	"revocation.hosts[]":    {`revocation: {hosts: ["10.0.0.1:8080 before 2026-11-22T20:00:00Z"]}`, `revocation: {hosts: ["10.0.0.2:8080 before 2026-11-22T20:00:00Z"]}`},
	"revocation.backends[]": {`revocation: {backends: ["shop/cart:80 before 2026-11-22T20:00:00Z"]}`, `revocation: {backends: ["shop/cart:80 before 2026-11-22T20:00:01Z"]}`},
	"envelope":              {"sessionName: a, envelope: true", "sessionName: a, envelope: false"},
	"cookie.crossSite":      {"cookie: {crossSite: true}", "cookie: {crossSite: false}"},
	"revealHost":            {"revealHost: true", "revealHost: false"},
	"forward":               {"forward: true", "forward: false"},
}

// targetEffects are the same for what a policy attaches to: spec.targetRefs[] and spec.targetRef.
var targetEffects = map[string][2]string{
	"group":       {onRoute, strings.Replace(onRoute, "gateway.networking.k8s.io", "example.com", 1)},
	"kind":        {onRoute, strings.Replace(onRoute, "HTTPRoute", "GRPCRoute", 1)},
	"namespace":   {strings.Replace(onRoute, "name: ", "namespace: shop, name: ", 1), strings.Replace(onRoute, "name: ", "namespace: other, name: ", 1)},
	"name":        {onRoute, strings.Replace(onRoute, "cart", "other", 1)},
	"sectionName": {onRule, onNoRule},
}

const policyHead = "---\napiVersion: limpet.dev/v1alpha1\nkind: SessionPersistencePolicy\nmetadata: {name: p, namespace: shop}\nspec: "

// TestSettingsHaveAnEffect compiles both writings of every field, in every block: the outputs must differ.
func TestSettingsHaveAnEffect(t *testing.T) {
	base := strings.ReplaceAll(statusBase, "{addresses: [", "{hostname: pod-0, addresses: [")
	for path := range resource.SupportedFields()["SessionPersistencePolicy"] {
		a, b := policyEdits(t, path)
		before, after := compilePolicy(t, base+a), compilePolicy(t, base+b)
		if bytes.Equal(before, after) {
			t.Errorf("%s has no effect:\n%s%s", path, a, b)
		}
	}
	if got, want := len(resource.SupportedFields()["SessionPersistencePolicy"]), 3*len(settingEffects)+2*len(targetEffects)+6; got != want {
		t.Errorf("%d fields are supported, and there are writings for %d", got, want)
	}
}

// policyEdits gives the two policies for a field by its path.
func policyEdits(t *testing.T, path string) (a, b string) {
	t.Helper()
	name := strings.TrimPrefix(path, "spec.")
	if field, is := strings.CutPrefix(name, "targetRefs[]."); is {
		return policyHead + "{targetRefs: [" + targetEffects[field][0] + "]}\n", policyHead + "{targetRefs: [" + targetEffects[field][1] + "]}\n"
	}
	if field, is := strings.CutPrefix(name, "targetRef."); is {
		return policyHead + "{targetRef: " + targetEffects[field][0] + "}\n", policyHead + "{targetRef: " + targetEffects[field][1] + "}\n"
	}
	if name == "className" {
		of := func(class string) string {
			return policyHead + "{targetRefs: [" + onRoute + "], className: " + class + ", sessionName: a}\n"
		}
		return of("limpet"), of("other")
	}
	if name == "scope" {
		return policyHead + "{targetRefs: [" + onRoute + "], scope: Rule}\n", policyHead + "{targetRefs: [" + onRoute + "], scope: Route}\n"
	}
	if name == "strategy" { // of two policies, which of them it is that a route has
		of := func(strategy string) string {
			return policyHead + "{targetRefs: [" + onRoute + "], sessionName: a}\n" +
				strings.Replace(policyHead, "name: p,", "name: above,", 1) + "{targetRefs: [" + onGateway + "], sessionName: b, strategy: " + strategy + "}\n"
		}
		return of("PatchDefaults"), of("PatchOverrides")
	}
	if block, is := strings.CutSuffix(name, "unset[]"); is {
		return unsetEdit(block, "failStatus"), unsetEdit(block, "idleTimeout")
	}
	form := "{targetRefs: [" + onRoute + "], %s}\n"
	for _, block := range []string{"default", "override"} {
		if field, is := strings.CutPrefix(name, block+"."); is {
			name, form = field, "{targetRefs: ["+onRoute+"], "+block+": {%s}}\n"
		}
	}
	both, known := settingEffects[name]
	if !known {
		t.Fatalf("no writings for %s", path)
	}
	return policyHead + fmt.Sprintf(form, both[0]), policyHead + fmt.Sprintf(form, both[1])
}

// unsetEdit has a policy whose block takes a field away, and a weaker one that writes it.
func unsetEdit(block, field string) string {
	inBlock := func(writes string) string {
		if block == "" {
			return writes
		}
		return strings.TrimSuffix(block, ".") + ": {" + writes + "}"
	}
	weaker := onGateway
	if block == "override." {
		weaker = onRule // of overrides the highest is the strongest
	}
	return policyHead + "{targetRefs: [" + onRoute + "], " + inBlock("unset: ["+field+"]") + "}\n" +
		strings.Replace(policyHead, "name: p,", "name: weaker,", 1) + "{targetRefs: [" + weaker + "], " + inBlock("idleTimeout: 1h") + "}\n"
}

// compilePolicy is what a compilation writes for proxies; only what can't be supported, or is refused, shows in words.
func compilePolicy(t *testing.T, text string) []byte {
	t.Helper()
	result, err := Compile([]Source{{Name: "in.yaml", Data: []byte(text)}}, Options{Envoy: &EnvoyOptions{ModulePath: "limpet.wasm"}})
	if err != nil {
		if !strings.Contains(err.Error(), "spec.targetRef") {
			t.Errorf("%v\n%s", err, text)
		}
		return []byte(err.Error())
	}
	out := result.Main()
	for _, w := range result.Warnings {
		if !w.Advice && strings.Contains(w.Message, "not supported") {
			out = append(out, w.Message...)
		}
	}
	return out
}
