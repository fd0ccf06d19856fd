package resource

import (
	"regexp"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
)

// TestPatternsHaveWords holds that each pattern of limpet's own session and load balancing policies is put into words, whose example is
// one that it takes.
func TestPatternsHaveWords(t *testing.T) {
	seen := 0
	for _, text := range api.CRDs() {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		if crd.Spec.Names.Kind == proxyConfigKind.Kind {
			continue // which has those of Pods
		}
		visitPatterns(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(pattern string) {
			seen++
			if patternWords[pattern] == "" {
				t.Errorf("%s: no words for %s", crd.Name, pattern)
			}
		})
	}
	if seen < 10 {
		t.Errorf("only %d patterns", seen)
	}
	for pattern, words := range patternWords {
		regexp.MustCompile(pattern)
		example := regexp.MustCompile(`(?:such as|as 'limpet revoke' writes it:) (.+?)(?:[,:] .*| or .*| and .*)?$`).FindStringSubmatch(words)
		if example != nil && !regexp.MustCompile(pattern).MatchString(example[1]) {
			t.Errorf("%s does not take its example %q", pattern, example[1])
		}
	}
}

// visitPatterns visits the patterns of a schema.
func visitPatterns(s *apiextensionsv1.JSONSchemaProps, visit func(string)) {
	if s.Pattern != "" {
		visit(s.Pattern)
	}
	for name := range s.Properties {
		if inner := s.Properties[name]; name != "status" { // which nobody writes
			visitPatterns(&inner, visit)
		}
	}
	if s.Items != nil {
		visitPatterns(s.Items.Schema, visit)
	}
}
