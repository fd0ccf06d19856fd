package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// requirementLists is how many items each list of requirements has (docs/semantics.md): 2A is GEP-1619 at 1.7.0, 2B is the same
// at 1.6.3, 2C is GEP-713 and 2D is GEP-3388.
var requirementLists = []struct {
	list string
	last int
}{{"2A.", 31}, {"2B.O", 11}, {"2C.", 21}, {"2D.", 6}}

// itemsTestedElsewhere names, for items whose tests are not tables with the items in their cases' names, the tests that hold them:
// folder and function. Some items hold on a running proxy only, and some are about CRDs.
var itemsTestedElsewhere = map[string][]string{
	"2A.1":   {"../e2e TestStickiness", "../e2e TestEnvoyKilled", "../e2e TestTwoEnvoys"},
	"2A.2":   {"../e2e TestHashPlacesAndTokenKeeps"},
	"2A.3":   {"../e2e TestForgedTokens", "../e2e TestThreatModelNamesRealTests", "../e2e TestKeysStaySecret"},
	"2A.6":   {"../e2e TestOptions"},
	"2A.7":   {"../e2e TestNoWasmWithoutPolicy"},
	"2A.12":  {"../e2e TestWeights17"},
	"2A.15":  {"../e2e TestWeights17", "../e2e TestStrictBackendOfSplit"},
	"2A.20":  {"../e2e TestTimeouts"},
	"2A.22":  {"../e2e TestForgedTokens"},
	"2A.24":  {"../e2e TestManyCookies"},
	"2A.26":  {"../e2e TestMissingService", "../e2e TestLostHostFails"},
	"2A.28":  {"../e2e TestLostHostRebalances"},
	"2B.O3":  {"../e2e TestWeights"},
	"2B.O8":  {"../e2e TestManyCookies", "../e2e TestStickiness"},
	"2B.O11": {"../e2e TestStickiness", "../e2e TestTimeouts", "../e2e TestWeights", "../e2e TestWeights17", "../e2e TestGRPCSticks"},
	"2C.1":   {"api TestPolicyConventions"},
	"2C.16":  {". TestS63RoomForSixteen", "../internal/compiler/status TestS63AtMostSixteenAncestors"},
	"2C.20":  {"../cmd/limpet TestScripts", "../internal/compiler/describe TestFind"},
	"2C.21":  {"api TestPolicyConventions"},
	"2D.4":   {"../e2e TestRetryBudget"},
}

// itemsWithoutTest are for items that ask for nothing that could be tested.
var itemsWithoutTest = map[string]string{
	"2D.5": "says what Istio does; limpet's own mapping is 2D.2 and 2D.3",
}

// defectTests are those that reading other products has found and that concern a compiler, and the golden cases that
// show that limpet does not have them. Those of tokens (HAProxy's hash and dates, nginx's digest and its Set-Cookie
// on every response) are tests of the token and the filter.
var defectTests = map[string][]string{
	"Istio: header sessions lose draining endpoints, cookie sessions don't":    {"policy-2A.27-draining"},
	"Istio: a later Service of a split takes the earlier one's session away":   {"policy-1b-weighted-loop"},
	"Envoy Gateway: no override_host_status, so sessions leave draining hosts": {"policy-2A.27-draining"},
	"Envoy Gateway: a backend of weight 0 is skipped, and its sessions break":  {"policy-2B.O3-weight-zero"},
	"Envoy Gateway: absoluteTimeout has no effect for Session and for Header":  {"policy-2A.19-permanent"},
	"Envoy: strict does not survive a retry":                                   {"policy-2A.28-fail", "policy-S40-fail-split-17"},
	"Envoy: the override_host policy sends to unhealthy and draining hosts":    {}, // see TestDefectsHaveCases
}

// golden items are S and E of docs/semantics.md that a compilation shows.
var goldenItems = []string{
	"S3", "S4", "S6", "S7", "S9", "S10", "S11", "S12", "S13", "S14", "S15", "S16", "S18", "S19", "S20", "S21", "S22", "S23", "S24",
	"S26", "S27", "S28", "S29", "S31", "S32", "S33", "S35", "S36", "S39", "S40", "S41", "S48", "S49", "S50",
	"E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9",
}

// TestItemsHaveCases holds that there is a case for each item: a golden one that says so in a comment, a case of a
// table test whose name has the item, or a test of the list above; or a reason why there is none.
func TestItemsHaveCases(t *testing.T) {
	said, cases := collectGoldenItems(t), collectTableItems(t)
	for _, item := range goldenItems {
		if !said[item] {
			t.Errorf("no golden case says that it is about %s", item)
		}
	}
	for _, l := range requirementLists {
		for n := 1; n <= l.last; n++ {
			item := fmt.Sprintf("%s%d", l.list, n)
			if !said[item] && !cases[item] && itemsTestedElsewhere[item] == nil && itemsWithoutTest[item] == "" {
				t.Errorf("nothing holds %s", item)
			}
		}
	}
	for item, tests := range itemsTestedElsewhere {
		for _, name := range tests {
			folder, function, _ := strings.Cut(name, " ")
			if !hasTest(t, folder, function) {
				t.Errorf("%s: there is no %s in %s", item, function, folder)
			}
		}
	}
}

// collectGoldenItems gives the words of all comments of golden inputs.
func collectGoldenItems(t *testing.T) map[string]bool {
	t.Helper()
	said := map[string]bool{}
	for _, g := range loadGoldens(t) {
		for line := range strings.Lines(string(g.source.Data)) {
			if strings.HasPrefix(line, "# ") {
				for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,:;()\n", r) }) {
					said[word] = true
				}
			}
		}
	}
	return said
}

// collectTableItems gives the items in the names of table tests' cases: in texts that begin with items or rules, in Go tests,
// and in the names of the files of package precedence's table.
func collectTableItems(t *testing.T) map[string]bool {
	t.Helper()
	said := map[string]bool{}
	item := regexp.MustCompile(`2[A-D]\.O?\d+`)
	begins := regexp.MustCompile("[\"`](?:(?:S\\d+|" + item.String() + ")[,: ]+)+")
	for _, pattern := range []string{"*_test.go", "../internal/compiler/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 5 {
			t.Fatal(pattern, files, err)
		}
		for _, file := range slices.DeleteFunc(files, func(f string) bool { return f == "items_test.go" }) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range begins.FindAllString(string(text), -1) {
				for _, found := range item.FindAllString(name, -1) {
					said[found] = true
				}
			}
		}
	}
	files, err := filepath.Glob(filepath.Join("..", "internal", "compiler", "precedence", "testdata", "rules", "*.in.yaml"))
	if err != nil || len(files) < 50 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, found := range item.FindAllString(filepath.Base(file), -1) {
			said[found] = true
		}
	}
	return said
}

func hasTest(t *testing.T, folder, function string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests (%v)", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+function+"(") {
			return true
		}
	}
	return false
}

// TestDefectsHaveCases holds that each defect has a golden case that says so, and that no golden output has Envoy's
// override_host policy, which is the defect that a compiler need not fall into.
func TestDefectsHaveCases(t *testing.T) {
	for defect, cases := range defectTests {
		for _, name := range cases {
			text, err := os.ReadFile(filepath.Join("testdata", name+".in.yaml"))
			first, _, _ := strings.Cut(string(text), "\n")
			if err != nil || !strings.Contains(first, "1b") {
				t.Errorf("%s: %s does not say that it is about it: %s (%v)", defect, name, first, err)
			}
		}
	}
	outputs, err := filepath.Glob(filepath.Join("testdata", "*.envoy.yaml"))
	if err != nil || len(outputs) < 100 {
		t.Fatalf("%d outputs, %v", len(outputs), err)
	}
	for _, file := range outputs {
		text, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(text), "load_balancing_policies.override_host") {
			t.Errorf("%s: %v, or it has Envoy's override_host policy", file, err)
		}
	}
}
