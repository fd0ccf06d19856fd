package api_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
)

// proxyConfig is a kind that is no policy.
const proxyConfig = "ProxyConfig"

// crdsAsStored gives the CRDs by kind, as an API server has them after creation: defaults and stored version set.
func crdsAsStored(t *testing.T) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	byKind := map[string]*apiextensions.CustomResourceDefinition{}
	for _, text := range api.CRDs() {
		var v1 apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &v1); err != nil {
			t.Fatal(err)
		}
		scheme.Default(&v1)
		crd := &apiextensions.CustomResourceDefinition{}
		if err := scheme.Convert(&v1, crd, nil); err != nil {
			t.Fatal(err)
		}
		crd.Status.StoredVersions = []string{"v1alpha1"}
		byKind[crd.Spec.Names.Kind] = crd
	}
	return byKind
}

// TestServerTakesCRDs runs the API server's own checks of a new CRD: structural schema, names, printer columns, and
// CEL rules that compile and stay within the cost budget.
func TestServerTakesCRDs(t *testing.T) {
	crds := crdsAsStored(t)
	if kinds := slices.Sorted(maps.Keys(crds)); !slices.Equal(kinds, []string{"LoadBalancerPolicy", proxyConfig, "SessionPersistencePolicy"}) {
		t.Fatalf("kinds: %v", kinds)
	}
	for kind, crd := range crds {
		for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), crd) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestPolicyConventions holds what GEP-713 and kubectl look at.
//
// requirements: 2C.1, 2C.21, S65
func TestPolicyConventions(t *testing.T) {
	for kind, crd := range crdsAsStored(t) {
		if got := crd.Spec.Names.Categories; !slices.Equal(got, []string{"gateway-api"}) {
			t.Errorf("%s: categories %v", kind, got)
		}
		root := schemaOf(crd)
		walkSchema(nodeOf(root).childNode("spec"), func(n node) {
			if n.schema.Default != nil {
				t.Errorf("%s: %s has a default, so that merging can't see what was written", kind, n.path)
			}
		})
		if kind == proxyConfig { // which is none
			continue
		}
		if got := crd.Labels[gatewayv1.PolicyLabelKey]; got != "Inherited" {
			t.Errorf("%s: label %s is %q", kind, gatewayv1.PolicyLabelKey, got)
		}
		if len(crd.Spec.Names.ShortNames) != 1 || len(crd.Spec.AdditionalPrinterColumns)+len(crd.Spec.Versions[0].AdditionalPrinterColumns) < 6 {
			t.Errorf("%s: short names %v, %d columns", kind, crd.Spec.Names.ShortNames, len(crd.Spec.AdditionalPrinterColumns))
		}
		if max := root.Properties["status"].Properties["ancestors"].MaxItems; max == nil || *max != 16 {
			t.Errorf("%s: at most 16 ancestors, got %v", kind, max)
		}
	}
}

// TestRuleCosts holds every CEL rule below a tenth of what an API server allows, and each CRD below a tenth of what
// it allows for all of them.
func TestRuleCosts(t *testing.T) {
	for kind, crd := range crdsAsStored(t) {
		var total, dearest uint64
		rules, where := 0, ""
		walkSchema(nodeOf(schemaOf(crd)), func(n node) {
			for _, cost := range ruleCosts(t, n) {
				rules++
				total += cost
				if cost > dearest {
					dearest, where = cost, n.path
				}
			}
		})
		t.Logf("%s: %d rules, estimated cost %d of %d in all, the most expensive (%s) %d of %d", kind, rules,
			total, validation.StaticEstimatedCRDCostLimit, where, dearest, validation.StaticEstimatedCostLimit)
		if rules < 2 || dearest > validation.StaticEstimatedCostLimit/10 || total > validation.StaticEstimatedCRDCostLimit/10 {
			t.Errorf("%s: %d rules cost %d in all, the most expensive %d at %s", kind, rules, total, dearest, where)
		}
	}
}

// ruleCosts estimates each rule at a place as the API server does when it takes a CRD.
func ruleCosts(t *testing.T, n node) []uint64 {
	t.Helper()
	if len(n.schema.XValidations) == 0 {
		return nil
	}
	info, err := n.cel.TypeInfo()
	if err != nil {
		t.Fatal(err)
	}
	results, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
	if err != nil || len(results) != len(n.schema.XValidations) {
		t.Fatalf("%s: %d results, %v", n.path, len(results), err)
	}
	costs := make([]uint64, len(results))
	for i, r := range results {
		if r.Error != nil || n.cel.MaxCardinality == nil || r.MaxCost > validation.StaticEstimatedCostLimit {
			t.Fatalf("%s: rule %d: %v, bounded: %t, cost %d", n.path, i, r.Error, n.cel.MaxCardinality != nil, r.MaxCost)
		}
		costs[i] = r.MaxCost * *n.cel.MaxCardinality
	}
	return costs
}

// node is a place in a schema.
type node struct {
	path   string
	schema *apiextensions.JSONSchemaProps
	cel    *validation.CELSchemaContext
}

func schemaOf(crd *apiextensions.CustomResourceDefinition) *apiextensions.JSONSchemaProps {
	if crd.Spec.Validation != nil {
		return crd.Spec.Validation.OpenAPIV3Schema
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func nodeOf(root *apiextensions.JSONSchemaProps) node {
	return node{"", root, validation.RootCELContext(root)}
}

func (n node) childNode(name string) node {
	props := n.schema.Properties[name]
	return node{n.path + "." + name, &props, n.cel.ChildPropertyContext(&props, name)}
}

// walkSchema visits a place and all below it.
func walkSchema(n node, visit func(node)) {
	visit(n)
	for _, name := range slices.Sorted(maps.Keys(n.schema.Properties)) {
		walkSchema(n.childNode(name), visit)
	}
	if n.schema.Items != nil {
		items := n.schema.Items.Schema
		walkSchema(node{n.path + "[]", items, n.cel.ChildItemsContext(items)}, visit)
	}
}
