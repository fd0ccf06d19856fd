package admission

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const leastCases = 180 // the corpus holds at least that many, or a glob has gone wrong

// corpusCase is one object of the corpus and, for each generation, a fragment of every error it must get.
type corpusCase struct {
	id     string // file and name
	object map[string]any
	errors map[APIRelease][]string
}

// parse gives the object for a call that may change it.
func (c corpusCase) parse(t testing.TB) map[string]any {
	t.Helper()
	text, err := utiljson.Marshal(c.object)
	if err != nil {
		t.Fatal(err)
	}
	return decodeYAML(t, text)
}

// decodeYAML reads JSON as an API server does, with whole numbers as int64.
func decodeYAML(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := utiljson.Unmarshal(text, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// readCorpus reads testdata/corpus. A file has an object and cases that replace its top-level fields.
func readCorpus(t testing.TB) []corpusCase {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []corpusCase
	ids := map[string]bool{}
	for _, file := range files {
		for _, c := range readCorpusFile(t, file) {
			if ids[c.id] {
				t.Fatalf("two cases are called %q", c.id)
			}
			ids[c.id] = true
			all = append(all, c)
		}
	}
	if len(all) < leastCases {
		t.Fatalf("the corpus has %d cases, want at least %d", len(all), leastCases)
	}
	return all
}

func readCorpusFile(t testing.TB, file string) []corpusCase {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err = yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	content := decodeYAML(t, text)
	var cases []corpusCase
	for _, raw := range content["cases"].([]any) {
		fields := raw.(map[string]any)
		c := corpusCase{id: fmt.Sprintf("%s: %s", filepath.Base(file), fields["name"]), errors: map[APIRelease][]string{}}
		c.object = maps.Clone(content["object"].(map[string]any))
		maps.Copy(c.object, fields["with"].(map[string]any))
		for apiRelease := range releases {
			c.errors[apiRelease] = readFragments(t, c.id, fields, apiRelease)
		}
		cases = append(cases, c)
	}
	return cases
}

// readFragments gives what a case expects of a generation, under the generation's name or "both".
func readFragments(t testing.TB, id string, fields map[string]any, apiRelease APIRelease) []string {
	t.Helper()
	list, ok := fields[string(apiRelease)].([]any)
	if !ok {
		list, ok = fields["both"].([]any)
	}
	if !ok {
		t.Fatalf("%s says nothing of %s", id, apiRelease)
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.(string)
	}
	return texts
}

func newAdmitter(t testing.TB, apiRelease APIRelease) *Admitter {
	t.Helper()
	a, err := New(apiRelease)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestCorpus holds Admit to what the corpus says of each object: as many errors, in this order, with these words.
func TestCorpus(t *testing.T) {
	for apiRelease := range releases {
		a := newAdmitter(t, apiRelease)
		for _, c := range readCorpus(t) {
			var got []string
			for _, e := range a.Admit(c.parse(t)) {
				got = append(got, e.Error())
			}
			if !matchFragments(got, c.errors[apiRelease]) {
				t.Errorf("%s, %s\ngot\n\t%s\nwant these words\n\t%s", apiRelease, c.id,
					strings.Join(got, "\n\t"), strings.Join(c.errors[apiRelease], "\n\t"))
			}
		}
	}
}

func matchFragments(got, fragments []string) bool {
	if len(got) != len(fragments) {
		return false
	}
	for i := range got {
		if !strings.Contains(got[i], fragments[i]) {
			return false
		}
	}
	return true
}
