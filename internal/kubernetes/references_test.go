package kubernetes

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// readObject reads an object's YAML.
func readObject(t *testing.T, text string) (*unstructured.Unstructured, []byte) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u, data
}

func TestListReferences(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Gateway\nspec: {listeners: [{tls: {certificateRefs: [{name: a}, {name: b, namespace: other, kind: Secret}, {name: c, kind: Other}]}}]}": "Secret/other/b Secret/shop/a",
		"kind: BackendTLSPolicy\nspec: {validation: {caCertificateRefs: [{kind: ConfigMap, group: '', name: a}, {kind: Secret, group: '', name: b}]}}": "ConfigMap/shop/a Secret/shop/b",
		"kind: HTTPProxy\nspec: {virtualhost: {tls: {secretName: certs/a}}, routes: [{services: [{validation: {caSecret: b}}]}]}":                      "Secret/certs/a Secret/shop/b",
		"kind: Gateway\nspec: {tls: {backend: {clientCertificateRef: {name: a}}}}":                                                                     "Secret/shop/a",
		"kind: HTTPRoute\nspec: {rules: [{backendRefs: [{kind: Service, name: a}, {kind: Secret}, 7]}]}":                                               "",
		"kind: Gateway\nspec: {listeners: [{tls: {certificateRefs: a}}, {tls: {certificateRefs: [a, null]}}, {secretName: [a]}]}":                      "",
		"kind: Gateway\nmetadata: {ownerReferences: [{kind: Secret, name: a}]}":                                                                        "",
	} {
		u, data := readObject(t, text)
		u.SetNamespace("shop")
		got := listReferences(u, data)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s\nrefers to %v; want %s", text, got, want)
		}
	}
}

// TestReferencesAreAllThatIsRead: of the compiler's own inputs, what nothing refers to makes no difference.
func TestReferencesAreAllThatIsRead(t *testing.T) {
	files, err := filepath.Glob("../../compiler/testdata/*.in.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	left := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "kind: Secret") && !strings.Contains(string(text), "kind: ConfigMap") {
			continue
		}
		referred := map[string]bool{}
		var all []compiler.Source
		for i, one := range strings.Split(string(text), "\n---\n") {
			u, data := readObject(t, one)
			if u.GetNamespace() == "" {
				u.SetNamespace("default")
			}
			name := fmt.Sprintf("%s/%d", nameSource(u.GetKind(), u), i)
			all = append(all, compiler.Source{Name: name, Data: data})
			for _, name := range listReferences(u, data) {
				referred[name] = true
			}
		}
		kept := slices.DeleteFunc(slices.Clone(all), func(s compiler.Source) bool {
			kind, _, _ := strings.Cut(s.Name, "/")
			return (kind == "Secret" || kind == "ConfigMap") && !referred[s.Name[:strings.LastIndex(s.Name, "/")]]
		})
		left += len(all) - len(kept)
		want, got := compileAll(all), compileAll(kept)
		for i := range max(len(want), len(got)) {
			if want != nil && (i >= len(want) || i >= len(got) || want[i] != got[i]) {
				t.Fatalf("%s: with what is referred to alone it comes to something else from line %d on\n%s\nnot\n%s", file, i,
					got[min(i, len(got)):], want[min(i, len(want)):])
			}
		}
	}
	if left == 0 {
		t.Error("nothing was left out anywhere")
	}
}

// compileAll says what a server makes of sources, a line for each problem and resource.
func compileAll(sources []compiler.Source) (lines []string) {
	ring := keyfile.NewRing("k")
	result, err := compiler.Compile(sources, compiler.Options{
		Keys:  policyconfig.Keys{Ring: &ring},
		Envoy: &compiler.EnvoyOptions{ModulePath: "/limpet.wasm", Admin: compiler.NoAdmin, Served: &compiler.Served{}},
	})
	if err != nil { // no API server would have admitted it
		return nil
	}
	for _, w := range result.Warnings {
		lines = append(lines, w.String())
	}
	for _, s := range result.Served {
		for _, packed := range slices.Concat(s.Listeners, s.Routes, s.Clusters.Slice(), s.Secrets) {
			lines = append(lines, fmt.Sprintf("%s %s %x", s.Gateway, packed.Name, sha256.Sum256(packed.Content)))
		}
	}
	return lines
}

// TestReadOnceMore: a Secret that changes while it is read, and that nothing refers to at that moment, is not kept as it was.
func TestReadOnceMore(t *testing.T) {
	const name = "Secret/shop/a"
	kind := schema.GroupKind{Kind: "Secret"}
	secret := func(version string) *unstructured.Unstructured {
		u, _ := readObject(t, "{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: a}, data: {tls.crt: "+version+"}}")
		u.SetResourceVersion(version)
		return u
	}
	for _, late := range []bool{false, true} {
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{builtIn[kind]: "SecretList"})
		s := NewSource(client, slog.New(slog.DiscardHandler))
		w := &watch{resource: builtIn[kind], ctx: t.Context(), store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
		s.watches[kind] = w
		arrive := func(version string) {
			o := &object{ObjectMeta: describeState(secret(version))}
			if err := w.store.Update(o); err != nil {
				t.Error(err)
			}
			s.set(t.Context(), kind, o)
		}
		reads := 0
		client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			if reads++; reads == 1 && !late {
				arrive("v2")
			}
			return true, &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*secret(fmt.Sprintf("v%d", reads))}}, nil
		})
		arrive("v1")
		s.lock.Lock()
		s.refer(&object{references: []string{name}}, nil)
		s.lock.Unlock()
		s.awaitRead(t.Context())
		if late {
			arrive("v2")
			s.awaitRead(t.Context())
		}
		if got := s.Sources().Slice(); len(got) != 1 || !strings.Contains(string(got[0].Data), `"tls.crt":"v2"`) {
			t.Errorf("late %v: it is %s", late, got)
		}
	}
}
