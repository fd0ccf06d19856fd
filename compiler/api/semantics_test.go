package api_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/admission"
)

// semantics is the document that these tests hold to what it claims of itself.
const semantics = "../../docs/semantics.md"

var (
	yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	ruleStart = regexp.MustCompile(`(?m)^\*\*S(\d+)\.`)
	ruleRef   = regexp.MustCompile(`\bS(\d+)\b`)
)

// TestSemanticsExamples admits every document of every YAML block: ours by our CRDs, those of Gateway API by the
// CRDs of 1.6.3 or 1.7.0, Services and EndpointSlices by their types.
func TestSemanticsExamples(t *testing.T) {
	blocks := yamlBlock.FindAllSubmatch(readFile(t, semantics), -1)
	if len(blocks) < 10 {
		t.Fatalf("%d blocks of YAML", len(blocks))
	}
	servers := []*admission.Admitter{newAdmitter(t, admission.Gateway16), newAdmitter(t, admission.Gateway17)}
	for i, block := range blocks {
		for j, text := range bytes.Split(block[1], []byte("\n---\n")) {
			t.Run(fmt.Sprintf("block %d document %d", i+1, j+1), func(t *testing.T) { checkExample(t, servers, text) })
		}
	}
}

func checkExample(t *testing.T, servers []*admission.Admitter, text []byte) {
	t.Helper()
	obj := decodeObject(t, text)
	builtIn := map[any]any{"Service": &corev1.Service{}, "EndpointSlice": &discoveryv1.EndpointSlice{}}
	if into := builtIn[obj["kind"]]; into != nil {
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			t.Error(err)
		}
		return
	}
	if obj["apiVersion"] == "limpet.dev/v1alpha1" {
		checkTypesUnlessStamped(t, obj, text)
	}
	var refusals []string
	for _, server := range servers {
		errs := server.Admit(decodeObject(t, text))
		if len(errs) == 0 {
			return
		}
		refusals = append(refusals, joinErrors(errs))
	}
	t.Errorf("%s\nrefused by 1.6: %s\nrefused by 1.7: %s", text, refusals[0], refusals[1])
}

// checkTypesUnlessStamped leaves out documents with a creation time, which Go writes in another form.
func checkTypesUnlessStamped(t *testing.T, obj map[string]any, text []byte) {
	t.Helper()
	meta, _ := obj["metadata"].(map[string]any)
	if _, stamped := meta["creationTimestamp"]; !stamped {
		checkTypes(t, text)
	}
}

// TestSemanticsRules holds that the rules are numbered without gaps, and that every mention of one, in the document
// and in the comments of the types, means a rule that is there.
func TestSemanticsRules(t *testing.T) {
	text := string(readFile(t, semantics))
	starts := ruleStart.FindAllStringSubmatch(text, -1)
	for i, m := range starts {
		if m[1] != strconv.Itoa(i+1) {
			t.Fatalf("rule %d is numbered %s", i+1, m[1])
		}
	}
	if len(starts) < 50 {
		t.Fatalf("%d rules", len(starts))
	}
	sources, err := filepath.Glob("v1alpha1/*.go")
	if err != nil || len(sources) < 6 {
		t.Fatalf("sources: %v, %v", sources, err)
	}
	for _, file := range append(sources, semantics) {
		for _, m := range ruleRef.FindAllStringSubmatch(string(readFile(t, file)), -1) {
			if n, _ := strconv.Atoi(m[1]); n < 1 || n > len(starts) {
				t.Errorf("%s mentions %s, and there are %d rules", file, m[0], len(starts))
			}
		}
	}
}
