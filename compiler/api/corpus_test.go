package api_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/admission"
)

// TestAccepted holds the documents that the CRDs must accept; the Go types must hold each of them whole.
func TestAccepted(t *testing.T) {
	server := newAdmitter(t, admission.Gateway16)
	for _, file := range readCorpus(t, "accepted", 30) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := readFile(t, file)
			for _, err := range server.Admit(decodeObject(t, text)) {
				t.Error(err)
			}
			checkTypes(t, text)
		})
	}
}

// TestRefused holds the documents that the CRDs must refuse, with the messages next to them.
func TestRefused(t *testing.T) {
	server := newAdmitter(t, admission.Gateway16)
	for _, file := range readCorpus(t, "refused", 60) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			errs := server.Admit(decodeObject(t, readFile(t, file)))
			if len(errs) == 0 {
				t.Error("accepted")
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".txt", []byte(joinErrors(errs)))
		})
	}
}

// readCorpus lists the documents of a folder of testdata, at least as many as there should be.
func readCorpus(t *testing.T, folder string, atLeast int) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(files) < atLeast {
		t.Fatalf("%d documents in %s, %v: want at least %d", len(files), folder, err, atLeast)
	}
	return files
}

// newAdmitter knows the CRDs of a generation of Gateway API, and ours.
func newAdmitter(t *testing.T, apiRelease admission.APIRelease) *admission.Admitter {
	t.Helper()
	server, err := admission.New(apiRelease, api.CRDs()...)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// decodeObject decodes one YAML document as the API server's JSON decoder would.
func decodeObject(t *testing.T, text []byte) map[string]any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(asJSON, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// checkTypes decodes a document into its Go type, strictly. A SessionPersistencePolicy must come back as it was, down
// to what is false, zero or empty, for merging goes by what was written.
func checkTypes(t *testing.T, text []byte) {
	t.Helper()
	want := decodeObject(t, text)
	if want["kind"] == "LoadBalancerPolicy" {
		if err := yaml.UnmarshalStrict(text, &v1alpha1.LoadBalancerPolicy{}); err != nil {
			t.Error(err)
		}
		return
	}
	if want["kind"] == proxyConfig {
		if err := yaml.UnmarshalStrict(text, &v1alpha1.ProxyConfig{}); err != nil {
			t.Error(err)
		}
		return
	}
	var policy v1alpha1.SessionPersistencePolicy
	if err := yaml.UnmarshalStrict(text, &policy); err != nil {
		t.Fatal(err)
	}
	again, err := yaml.Marshal(policy.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	got := decodeObject(t, again)
	delete(got, "status") // the type's empty status has a list that must be there
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the Go type makes of it\n%s", again)
	}
}

func joinErrors(errs field.ErrorList) string {
	var b strings.Builder
	for _, err := range errs {
		b.WriteString(err.Error() + "\n")
	}
	return b.String()
}
