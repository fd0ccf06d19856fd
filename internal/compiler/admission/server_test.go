package admission

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// server is a running API server without any Gateway API, on this machine.
type server struct {
	t      *testing.T
	client http.Client
}

// recordVerdicts writes the verdicts file with what the server says of every case under every generation's CRDs, taken
// as they were released.
func recordVerdicts(t *testing.T, cases []corpusCase) {
	t.Helper()
	s := &server{t: t, client: http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // it signed its own, on loopback
	}}
	var version struct{ GitVersion string }
	s.get("/version", &version)
	all := verdicts{Server: "kube-apiserver " + version.GitVersion, Cases: map[APIRelease]map[string]verdict{}}
	for _, apiRelease := range []APIRelease{Gateway16, Gateway17} {
		crds := s.install(apiRelease)
		all.Cases[apiRelease] = map[string]verdict{}
		for _, c := range cases {
			all.Cases[apiRelease][c.id] = s.submit(c.object, crds)
		}
		s.remove(crds)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(verdictsFile, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// install creates the CRDs of a generation and waits until the server serves them.
func (s *server) install(apiRelease APIRelease) map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition {
	crds := map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition{}
	texts, err := releasedCRDs(apiRelease)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, text := range texts {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			s.t.Fatal(err)
		}
		if code, body, _ := s.send(http.MethodPost, crdPath, "application/yaml", text); code != http.StatusCreated {
			s.t.Fatalf("installing %s: %d %s", crd.Name, code, body)
		}
		crds[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = crd
	}
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			if v.Served {
				s.await(collectionPath(crd, v.Name), http.StatusOK)
			}
		}
	}
	return crds
}

func (s *server) remove(crds map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition) {
	for _, crd := range crds {
		if code, body, _ := s.send(http.MethodDelete, crdPath+"/"+crd.Name, "", nil); code != http.StatusOK {
			s.t.Fatalf("removing %s: %d %s", crd.Name, code, body)
		}
	}
	for _, crd := range crds {
		s.await(crdPath+"/"+crd.Name, http.StatusNotFound)
	}
}

// await polls a path until it answers with the code.
func (s *server) await(path string, want int) {
	deadline := time.Now().Add(5 * time.Minute)
	for {
		code, _, _ := s.send(http.MethodGet, path, "", nil)
		if code == want {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s still answers %d", path, code)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// collectionPath is the path to which objects of a kind are posted.
func collectionPath(crd *apiextensionsv1.CustomResourceDefinition, version string) string {
	within := "/"
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		within = "/namespaces/default/"
	}
	return "/apis/" + crd.Spec.Group + "/" + version + within + crd.Spec.Names.Plural
}

// submit has the server admit an object without storing it.
func (s *server) submit(obj map[string]any, crds map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition) verdict {
	gvk := schema.FromAPIVersionAndKind(obj["apiVersion"].(string), obj["kind"].(string))
	text, err := json.Marshal(obj)
	if err != nil {
		s.t.Fatal(err)
	}
	path := collectionPath(crds[gvk.GroupKind()], gvk.Version) + "?dryRun=All&fieldValidation=Warn"
	code, body, warnings := s.send(http.MethodPost, path, "application/json", text)
	var unknown []string
	for _, w := range warnings {
		unknown = append(unknown, s.parseUnknownFields(w)...)
	}
	switch code {
	case http.StatusCreated:
		return newVerdict(nil, unknown, decodeYAML(s.t, body))
	case http.StatusUnprocessableEntity:
		return newVerdict(s.parseCauses(body), unknown, nil)
	}
	return verdict{Unknown: unknown, Errors: []string{fmt.Sprintf("%d %s", code, body)}}
}

var unknownWarning = regexp.MustCompile(`unknown field (\\"(?:[^\\]|\\\\\\")*\\")`)

// parseUnknownFields finds the paths in a warning header, whose text is quoted in a quoted string.
func (s *server) parseUnknownFields(warning string) []string {
	var paths []string
	for _, m := range unknownWarning.FindAllStringSubmatch(warning, -1) {
		path, err := strconv.Unquote(strings.ReplaceAll(m[1], `\"`, `"`))
		if err != nil {
			s.t.Fatalf("warning %s: %v", warning, err)
		}
		paths = append(paths, path)
	}
	if paths == nil && !strings.Contains(warning, "deprecated") && !strings.Contains(warning, "finalizer") {
		s.t.Fatalf("warning %s", warning)
	}
	return slices.Compact(slices.Sorted(slices.Values(paths)))
}

// parseCauses gives a refusal's errors as apimachinery's field errors that print the same.
func (s *server) parseCauses(body []byte) field.ErrorList {
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil || status.Details == nil {
		s.t.Fatalf("refusal %s: %v", body, err)
	}
	var errs field.ErrorList
	for _, cause := range status.Details.Causes {
		e := &field.Error{Type: field.ErrorType(cause.Type), Field: cause.Field, BadValue: field.OmitValueType{}}
		e.Detail = strings.TrimPrefix(strings.TrimPrefix(cause.Message, e.Type.String()), ": ")
		if got := e.Error(); got != cause.Field+": "+cause.Message {
			s.t.Fatalf("cannot keep the words of %q: %q", cause.Message, got)
		}
		errs = append(errs, e)
	}
	return errs
}

func (s *server) get(path string, into any) {
	code, body, _ := s.send(http.MethodGet, path, "", nil)
	if err := json.Unmarshal(body, into); code != http.StatusOK || err != nil {
		s.t.Fatalf("%s: %d %v", path, code, err)
	}
}

func (s *server) send(method, path, contentType string, text []byte) (code int, body []byte, warnings []string) {
	request, err := http.NewRequestWithContext(s.t.Context(), method, *serverURL+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+*serverToken)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, body, response.Header.Values("Warning")
}
