package envoygateway

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

var update = flag.Bool("update", false, "rewrite fields.json")

// TestFieldsAreThoseOfTheCRDs holds fields.json to the CRDs that Envoy Gateway ships.
func TestFieldsAreThoseOfTheCRDs(t *testing.T) {
	all := map[string]any{}
	for kind, file := range map[string]string{kindProxy: "envoyproxies", kindClient: "clienttrafficpolicies"} {
		all[kind] = map[string]any{"spec": listNames(readSchema(t, "testdata/crds/"+file+".json.gz"))}
	}
	want, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("fields.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("fields.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("fields.json is stale (%v): run this test with -update", err)
	}
}

// readSchema gives the schema of spec of a CRD's only version.
func readSchema(t *testing.T, path string) map[string]any {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct{ Spec map[string]any }
					}
				}
			}
		}
	}
	if err := json.NewDecoder(unzipped).Decode(&crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties.Spec
}

// listNames gives the names of a schema's fields, nil where anything may stand.
func listNames(schema map[string]any) any {
	if items, is := schema["items"].(map[string]any); is {
		return listNames(items)
	}
	fields, is := schema["properties"].(map[string]any)
	if !is || schema["x-kubernetes-preserve-unknown-fields"] == true {
		return nil
	}
	names := map[string]any{}
	for name, field := range fields {
		names[name] = listNames(field.(map[string]any))
	}
	return names
}

// A typo in an object of the user's that limpet extends is said, with its path; what may be anything is left alone.
func TestUnknownFieldsOfUsersObjects(t *testing.T) {
	plan, _ := newPlan(t, object.KindHTTPRoute, oneBackend)
	client := newObject(t, kindClient, "mine",
		`{targetRefs: [{kind: Gateway, name: web, sectionNmae: http}], clientIPDetection: {xForwardedFor: {numTrustedHps: 1}}}`)
	proxy := newObject(t, kindProxy, "other",
		`{provider: {kubernetes: {envoyDeployment: {pod: {annotations: {any: thing}}, replica: 2}}}}`)
	plan.Objects[kindClient], plan.Objects[kindProxy] = []*ir.Object{&client}, []*ir.Object{&proxy}
	emit(t, plan).checkProblems(t,
		"spec.clientIPDetection.xForwardedFor.numTrustedHps: unknown field: Envoy Gateway 1.9 has none of this name; did you mean numTrustedHops?",
		"spec.targetRefs[0].sectionNmae: unknown field: Envoy Gateway 1.9 has none of this name; did you mean sectionName?",
		"spec.provider.kubernetes.envoyDeployment.replica: unknown field: Envoy Gateway 1.9 has none of this name; did you mean replicas?")
}
