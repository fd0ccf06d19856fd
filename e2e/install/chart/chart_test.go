package chart_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/e2e/install/chart"
)

const root = "../../.."

func render(t *testing.T, values string) []*unstructured.Unstructured {
	t.Helper()
	c, err := chart.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := chart.Render(c, chart.Values(values))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// findKind gives the object of a kind; nil if there is none.
func findKind(objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	for _, o := range objects {
		if o.GetKind() == kind {
			return o
		}
	}
	return nil
}

// foreign are kinds whose Go types are not at hand: an API server with their CRDs would judge them.
var foreign = map[string]bool{"ServiceMonitor": true, "PrometheusRule": true, "Certificate": true, "GatewayClass": true, "CustomResourceDefinition": true}

// TestMatrix: whatever values say, each object is one that Kubernetes' own types have, to the last field, and Pods are restricted.
func TestMatrix(t *testing.T) {
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for name, values := range chart.Matrix {
		t.Run(name, func(t *testing.T) {
			objects, seen := render(t, values), map[string]bool{}
			for _, o := range objects {
				if title := chart.Title(o); seen[title] {
					t.Errorf("%s is there twice", title)
				} else {
					seen[title] = true
				}
				if foreign[o.GetKind()] {
					continue
				}
				text, err := json.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				typed, _, err := strict.Decode(text, nil, nil)
				if err != nil {
					t.Errorf("%s: %v", chart.Title(o), err)
				}
				checkDeployment(t, typed)
			}
		})
	}
}

// checkDeployment wants what every one of limpet has, whatever values say.
func checkDeployment(t *testing.T, typed runtime.Object) {
	t.Helper()
	d, is := typed.(*appsv1.Deployment)
	if !is {
		return
	}
	pod, container := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
	if !*pod.SecurityContext.RunAsNonRoot || !*container.SecurityContext.ReadOnlyRootFilesystem || *container.SecurityContext.AllowPrivilegeEscalation ||
		container.SecurityContext.Capabilities.Drop[0] != "ALL" || container.ReadinessProbe == nil || container.LivenessProbe == nil {
		t.Errorf("%+v", pod)
	}
	for key, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("its selector selects none of its Pods: %s=%s", key, value)
		}
	}
}

// TestSwitches: what a switch is for is there with it, and not there without.
func TestSwitches(t *testing.T) {
	plain, everything, bare := render(t, ""), render(t, chart.Matrix["everything"]), render(t, chart.Matrix["one, without extras"])
	for kind, in := range map[string][3]bool{ // plain, everything, bare
		"PodDisruptionBudget": {true, true, false}, "GatewayClass": {true, true, false}, "CustomResourceDefinition": {true, true, false},
		"HorizontalPodAutoscaler": {false, true, false}, "NetworkPolicy": {true, true, true}, "ServiceMonitor": {false, true, false},
		"PrometheusRule": {false, true, false},
		"ConfigMap":      {false, true, false}, "ClusterRole": {true, true, true}, "Deployment": {true, true, true}, "Certificate": {false, false, false},
	} {
		for i, objects := range [][]*unstructured.Unstructured{plain, everything, bare} {
			if got := findKind(objects, kind) != nil; got != in[i] {
				t.Errorf("values %d: a %s: %v, want %v", i, kind, got, in[i])
			}
		}
	}
	for what, want := range map[string]string{
		"an image by digest":      "image: ghcr.io/limpet-proxy/limpet@sha256:0a0a",
		"IPv6, text, no statuses": "--listen=[::]:18000",
		"cert-manager":            "kind: Certificate",
		"everything":              "--manage-proxies",
	} {
		var all strings.Builder
		for _, o := range render(t, chart.Matrix[what]) {
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		if !strings.Contains(all.String(), want) {
			t.Errorf("%s: no %q", what, want)
		}
	}
}

// TestNetworkPolicy: the ports for Envoys are for the Pods that limpet runs, of any namespace, unless a value says otherwise; those with
// metrics are for all, and no other port is for anybody.
func TestNetworkPolicy(t *testing.T) {
	for values, want := range map[string]string{
		"": `{"ingress":[{"from":[{"namespaceSelector":{},"podSelector":{"matchExpressions":[{"key":"limpet.dev/proxies","operator":"Exists"}]}}],` +
			`"ports":[{"port":"xds"},{"port":"wasm"}]},{"ports":[{"port":"probes"}]}],"policyTypes":["Ingress"]}`,
		"networkPolicy: {envoys: [], monitoring: [{podSelector: {}}]}": `{"ingress":[{"ports":[{"port":"xds"},{"port":"wasm"}]},` +
			`{"from":[{"podSelector":{}}],"ports":[{"port":"probes"}]}],"policyTypes":["Ingress"]}`,
	} {
		objects := render(t, values)
		policy := findKind(objects, "NetworkPolicy")
		if policy == nil {
			t.Fatalf("%q: there is none", values)
		}
		spec, _, _ := unstructured.NestedMap(policy.Object, "spec")
		selected, _, _ := unstructured.NestedStringMap(spec, "podSelector", "matchLabels")
		labels, _, _ := unstructured.NestedStringMap(findKind(objects, "Deployment").Object, "spec", "template", "metadata", "labels")
		for key, value := range selected {
			if labels[key] != value {
				t.Errorf("%q: limpet's Pods are not of %s=%s", values, key, value)
			}
		}
		delete(spec, "podSelector")
		if got, err := json.Marshal(spec); err != nil || string(got) != want || len(selected) == 0 {
			t.Errorf("%q: %v\ngot  %s\nwant %s", values, err, got, want)
		}
	}
}

// TestValuesAreChecked: the schema has every value and no other, and refuses what is none.
func TestValuesAreChecked(t *testing.T) {
	c, err := chart.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{
		`{replicas: 3}`, `{replicaCount: 0}`, `{image: {digest: "sha256:1"}}`, `{serve: {logFormat: xml}}`, `{serve: {bindAddress: "::"}}`,
		`{keys: {rotateEvery: soon}}`, `{tls: {certManager: {enabled: true}}}`, `{serviceAccount: {create: false}}`, `{crds: {enable: false}}`,
		`{serve: {extraArgs: [ack-deadline]}}`, `{keys: {rotateEvery: 1h}}`, `{keys: {rotateEvery: 1d12h}}`, `{fullnameOverride: my.limpet}`,
		`{autoscaling: {enabled: true, minReplicas: 5, maxReplicas: 2}}`,
	} {
		if _, err := chart.Render(c, chart.Values(wrong)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	var schema map[string]any
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	compareKeys(t, "", c.Values, schema)
}

// compareKeys wants the same keys in values and in their schema.
func compareKeys(t *testing.T, path string, values, schema map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for key := range properties {
		if _, has := values[key]; !has && key != "global" {
			t.Errorf("values.yaml has no %s%s", path, key)
		}
	}
	for key, value := range values {
		of, has := properties[key].(map[string]any)
		if !has {
			t.Errorf("values.schema.json has no %s%s", path, key)
			continue
		}
		if inner, is := value.(map[string]any); is && of["properties"] != nil {
			compareKeys(t, path+key+".", inner, of)
		}
	}
}

// TestLint: Helm's own linter finds nothing.
func TestLint(t *testing.T) {
	lint := action.NewLint()
	lint.Strict, lint.Namespace = true, chart.Namespace
	folder := filepath.Join(t.TempDir(), "limpet") // Helm wants the chart's name
	if err := chart.Write(root, folder); err != nil {
		t.Fatal(err)
	}
	result := lint.Run([]string{folder}, nil)
	for _, m := range result.Messages {
		if m.Severity > 1 { // information
			t.Error(m)
		}
	}
	for _, err := range result.Errors {
		t.Error(err)
	}
}

// TestReadme: the chart's README is what 'make deploy' makes now.
func TestReadme(t *testing.T) {
	want, err := chart.Readme(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(chart.Folder(root), "README.md")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("it is stale (%v): run 'make deploy'", err)
	}
}

// TestManifest: kustomize takes install.yaml as a base, and makes the same objects of it; the image has the placeholder that a release
// replaces.
func TestManifest(t *testing.T) {
	install, err := chart.Manifest(root)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(install, "image: ghcr.io/limpet-proxy/limpet:v0.0.0-unreleased\n") {
		t.Error("it does not name the image as tools/release expects it")
	}
	files := filesys.MakeFsInMemory()
	for name, text := range map[string]string{"install.yaml": install, "kustomization.yaml": "resources: [install.yaml]\n"} {
		if err := files.WriteFile("/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := titles(t, string(text)), titles(t, install); !slices.Equal(got, want) {
		t.Errorf("kustomize makes\n%q, and install.yaml has\n%q", got, want)
	}
}

// TestChartHasCRDs: the chart has each CRD, which stays when the chart goes: with it all policies would.
func TestChartHasCRDs(t *testing.T) {
	committed, err := filepath.Glob(filepath.Join(root, "compiler/api/crds/*.yaml"))
	if err != nil || len(committed) < 3 {
		t.Fatalf("%d CRDs: %v", len(committed), err)
	}
	var want, got []string
	for _, path := range committed {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, titles(t, string(text))...)
	}
	for _, o := range render(t, "") {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		annotations := o.GetAnnotations()
		if annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s goes when the chart does", o.GetName())
		}
		delete(annotations, "helm.sh/resource-policy")
		o.SetAnnotations(annotations)
		got = append(got, fmt.Sprintf("%s: %v", chart.Title(o), o.Object))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the chart has\n%q, want\n%q", got, want)
	}
	about, err := chart.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range committed {
		plural := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "limpet.dev_"), ".yaml")
		if !strings.Contains(about.Metadata.Annotations["artifacthub.io/crds"], "name: "+plural+".limpet.dev\n") {
			t.Errorf("Chart.yaml does not tell Artifact Hub of %s", plural)
		}
	}
}

// titles are the objects of a text, each with all that it has, sorted.
func titles(t *testing.T, text string) (all []string) {
	t.Helper()
	objects, err := chart.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		all = append(all, fmt.Sprintf("%s: %v", chart.Title(o), o.Object))
	}
	slices.Sort(all)
	return all
}

var metricName = regexp.MustCompile(`limpet_\w+`)

// TestAlertsAreOneFile: the PrometheusRule has the alerts of the rule file, with the labels that values say name a Gateway.
func TestAlertsAreOneFile(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(chart.Folder(root), "alerts/limpet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rendered string
	for _, o := range render(t, chart.Matrix["everything"]) {
		if o.GetKind() == "PrometheusRule" {
			rendered = fmt.Sprint(o.Object["spec"])
		}
	}
	names := regexp.MustCompile(`(?m)^  - alert: (\w+)$`).FindAllStringSubmatch(string(file), -1)
	if len(names) < 10 {
		t.Fatalf("only %d alerts", len(names))
	}
	for _, name := range names {
		if !strings.Contains(rendered, "alert:"+name[1]+" ") {
			t.Errorf("the PrometheusRule has no %s:\n%s", name[1], rendered)
		}
	}
	if strings.Count(rendered, "by (gateway) (") != 2 {
		t.Errorf("the Gateway is not named as values say:\n%s", rendered)
	}
}

// TestDashboardKnowsItsMetrics: each metric on the dashboard is one that docs/serve.md has.
func TestDashboardKnowsItsMetrics(t *testing.T) {
	dashboard, err := os.ReadFile(filepath.Join(chart.Folder(root), "dashboards/limpet.json"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	var parsed map[string]any
	if err := json.Unmarshal(dashboard, &parsed); err != nil {
		t.Fatal(err)
	}
	found := metricName.FindAllString(string(dashboard), -1)
	if len(found) < 8 {
		t.Fatalf("only %q", found)
	}
	for _, name := range found {
		if !strings.Contains(string(page), strings.TrimSuffix(name, "_bucket")) {
			t.Errorf("docs/serve.md knows no %s", name)
		}
	}
}
