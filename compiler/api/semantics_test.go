package api_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	itemRef   = regexp.MustCompile(`\b(2[A-D])\.(O?)(\d+)\b`)
	itemCount = map[string]int{"2A": 31, "2B": 11, "2C": 21, "2D": 6}
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

// TestSemanticsIndex holds that every item of the four lists of requirements is named by a rule, and that the index
// at the document's end is what the rules say.
func TestSemanticsIndex(t *testing.T) {
	text := string(readFile(t, semantics))
	body, index, found := strings.Cut(text, "\n## Index\n")
	if !found {
		t.Fatal("no index")
	}
	byItem := itemsByRule(t, body)
	var want strings.Builder
	for _, list := range slices.Sorted(maps.Keys(itemCount)) {
		want.WriteString(indexRow(t, list, byItem))
	}
	head, _, _ := strings.Cut(index, "|---|---|\n")
	compareGolden(t, semantics, []byte(body+"\n## Index\n"+head+"|---|---|\n"+want.String()))
}

// itemsByRule gives, for each item such as 2B.O3, the numbers of the rules whose text names it.
func itemsByRule(t *testing.T, body string) map[string][]int {
	t.Helper()
	byItem := map[string][]int{}
	for _, section := range regexp.MustCompile(`(?m)^#+ `).Split(body, -1) {
		starts := ruleStart.FindAllStringSubmatchIndex(section, -1)
		for i, m := range starts {
			end := len(section)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			rule, _ := strconv.Atoi(section[m[2]:m[3]])
			for _, item := range itemRef.FindAllString(section[m[0]:end], -1) {
				if !slices.Contains(byItem[item], rule) {
					byItem[item] = append(byItem[item], rule)
				}
			}
		}
	}
	return byItem
}

// indexRow writes one list's line of the index.
func indexRow(t *testing.T, list string, byItem map[string][]int) string {
	t.Helper()
	names := map[string]string{
		"2A": "GEP-1619 at 1.7.0", "2B": "GEP-1619 at 1.6.3", "2C": "GEP-713", "2D": "GEP-3388",
	}
	prefix := map[string]string{"2B": "O"}[list]
	var cells []string
	for n := 1; n <= itemCount[list]; n++ {
		item := prefix + strconv.Itoa(n)
		rules := byItem[list+"."+item]
		if len(rules) == 0 {
			t.Errorf("no rule names %s.%s", list, item)
		}
		slices.SortFunc(rules, cmp.Compare[int])
		mentions := make([]string, len(rules))
		for i, r := range rules {
			mentions[i] = "S" + strconv.Itoa(r)
		}
		cells = append(cells, item+": "+strings.Join(mentions, ", "))
	}
	return fmt.Sprintf("| %s, %s | %s |\n", list, names[list], strings.Join(cells, " · "))
}
