package precedence

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// everyFieldPolicy is the accepted policy of the API's corpus that writes every field of a cookie's session.
func everyFieldPolicy(t testing.TB) *v1alpha1.SessionPersistencePolicy {
	t.Helper()
	var p v1alpha1.SessionPersistencePolicy
	text, err := os.ReadFile("../../../compiler/api/testdata/accepted/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// TestPolicy turns all fields into the plugin's configuration, which takes it.
func TestPolicy(t *testing.T) {
	p := everyFieldPolicy(t)
	target := ListTargets("shop", &p.Spec)[0].Target
	e := Merge(PolicyBlocks(object.Origin{Ref: object.Ref{Kind: "SessionPersistencePolicy", Namespace: "shop", Name: "all"}}, target, &p.Spec))
	name, named := e.SessionName()
	path, hasPath := e.CookiePath()
	if !named || !hasPath {
		t.Fatalf("name %t, path %t", named, hasPath)
	}
	if drain, has := e.DrainTimeout(); !has || drain == 0 {
		t.Errorf("drain timeout %v, %t", drain, has)
	}
	identity := PolicyIdentity{
		Name: "shop/cart/rule/0", Scope: "HTTPRoute/shop/cart/rule/0", Routes: []string{"r"}, Clusters: []string{"c"},
		SessionName: name, CookiePath: path,
	}
	config := policyconfig.DefaultConfig()
	config.Policies = []policyconfig.Policy{e.BuildPolicy(identity)}
	text, err := policyconfig.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/policy.json", string(text))
}

// TestPolicyHeader holds that a header has nothing of a cookie.
func TestPolicyHeader(t *testing.T) {
	kind, name := policyconfig.TypeHeader, v1alpha1.SessionName("x-cart")
	e := Merge([]SettingsBlock{{Level: 10, Path: "spec", Settings: &v1alpha1.SessionSettings{Type: &kind, SessionName: &name}}})
	p := e.BuildPolicy(PolicyIdentity{SessionName: "x-cart-2", CookiePath: "/ignored"})
	if p.Type != policyconfig.TypeHeader || p.SessionName != "x-cart-2" || p.Cookie != nil {
		t.Errorf("%+v", p)
	}
	if _, has := e.CookiePath(); has {
		t.Error("a header has a path")
	}
}

// TestPolicyIsItsOwn holds that changing one policy changes no other.
func TestPolicyIsItsOwn(t *testing.T) {
	p := everyFieldPolicy(t)
	e := Merge(PolicyBlocks(object.Origin{}, ListTargets("shop", &p.Spec)[0].Target, &p.Spec))
	a, b := e.BuildPolicy(PolicyIdentity{}), e.BuildPolicy(PolicyIdentity{})
	a.Cookie.Domain, a.Cookie.Attributes[0] = "changed", "changed"
	if c := e.BuildPolicy(PolicyIdentity{}); b.Cookie.Domain == "changed" || b.Cookie.Attributes[0] == "changed" || c.Cookie.Attributes[0] == "changed" {
		t.Error("policies share memory")
	}
}
