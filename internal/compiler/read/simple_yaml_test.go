package read

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// readViaLibrary reads a document with the YAML library; nil if it has a fault or is no mapping.
func readViaLibrary(data []byte) map[string]any {
	roots, broken := parseYAML(data)
	if broken != nil || len(roots) != 1 {
		return nil
	}
	b := &nodeConverter{aliases: new(int)}
	fields, _ := b.convert(roots[0]).(map[string]any)
	if len(b.faults) > 0 {
		return nil
	}
	return fields
}

// compareSimple holds the simple reader to the library: it gives up, or gives the same values and lines.
func compareSimple(t *testing.T, data []byte) (read bool) {
	t.Helper()
	fields, read := simpleYAML(data)
	if !read {
		return false
	}
	if want := readViaLibrary(data); !reflect.DeepEqual(fields, want) {
		t.Errorf("%q:\ngot  %#v\nwant %#v", data, fields, want)
		return true
	}
	roots, _ := parseYAML(data)
	places, failed := findPlaces(data)
	if failed {
		t.Errorf("%q: no places", data)
		return true
	}
	for _, path := range listPaths(fields) {
		got := places.findLine(splitPath(path))
		if want := (mappingKeys{}).findLine(roots[0], splitPath(path)); got != want {
			t.Errorf("%q, %s: line %d, want %d", data, path, got, want)
		}
	}
	return true
}

// listPaths are those of all values, and of some that are not there.
func listPaths(value any) []string {
	all := []string{"", ".gone.far", "[7]"}
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			for _, p := range listPaths(item) {
				all = append(all, keySegment(key)+p)
			}
		}
	case []any:
		for i, item := range v {
			for _, p := range listPaths(item) {
				all = append(all, "["+string(rune('0'+i%10))+"]"+p)
			}
		}
	}
	return all
}

// chunksOf gives the documents of the compiler's test cases.
func chunksOf(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "compiler", "testdata", "*.in.yaml"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files found (%v)", len(files), err)
	}
	var all [][]byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range splitDocuments(file, data) {
			all = append(all, c.data)
		}
	}
	return all
}

// TestSimple reads every document of the compiler's test cases in both ways.
func TestSimple(t *testing.T) {
	chunks := chunksOf(t)
	read := 0
	for _, data := range chunks {
		if compareSimple(t, data) {
			read++
		}
	}
	if read < len(chunks)/2 {
		t.Errorf("read %d of %d documents; want half of them at least", read, len(chunks))
	}
}

// TestSimpleValues has what the simple reader reads, and what it must leave to the library.
func TestSimpleValues(t *testing.T) {
	for _, text := range []string{
		"a: b", "a: 1", "a: 0", "a: true", "a: false", "a: null", "a:", "a:\nb:", "a: 10.0.0.1", "a: 8h", "a: 1h30m", "a: a:b", "a: /b", "a: 'b c'", `a: "b"`, "a: ''",
		"a: []", "a: {}", "a: [b, 1, [c]]", "a: {b: c, d: {e: 1}}", "a: { b: c }", "a: [ b ]", "a: [b,c]", "a: [1,2]", "a: {b: c,d: e}", "a:\n- b\n- c\nd: e", "a:\n  - b", "a:\n- b: c\n  d: e\n-  f: g\n   h: i",
		"a:\n- - b\n  - c\n- d", "a:\n  b:\n    c: d\n  e: f\ng: h", "# c\na: b\n\n  # c\nd: e\n", "---\na: b\n", "a.b/c-d: e", "a:\n- b:\n  - c\n  d: e", "a: b   \nc: d",
		"kind: List\nitems:\n- kind: A\n", "a:\n- [1]\n- {b: c}\n", "on: a", "null: a", "a: 123456789012345678", "a:\n- b:\n    c: d\n- e",
	} {
		if !compareSimple(t, []byte(text)) {
			t.Errorf("%q: given up", text)
		}
	}
	for _, text := range []string{
		"", "# c", "- a", "a", "{a: b}", "a: y", "a: On", "a: True", "a: ~", "a: Null", "a: 010", "a: 0x1", "a: 1e3", "a: 1.5", "a: -1", "a: .5", "a: 1_0", "a: 2026-01-02", "a: 1:20",
		"a: b c", "a: b # c", "a: b\n  c", "a: |\n  b", "a: >\n  b", "a: &x b", "a: *x", "a: !!str 1", "a: 'b''c'", `a: "b\n"`, `a: "b" c`, "a: [b", "a: [b,]", "a: {b}", "a: {b:c}",
		"a: b\na: c", "a: {b: c, b: d}", "a:\n  b: c\n d: e", "  a: b", "a:\n\tb: c", "a: b\tc", "a: é", "a:\n-\n  b: c", "? a\n: b", "a: b\n...\n", "%YAML 1.1\n---\na: b", "--- # c\na: b",
		"a: 99999999999999999999", "'a': b", "1: b", "<<: {a: b}", "a: @b", "a: `b`", "a: b:", "a: b: c", "a: [b: c]", "a: b\r\nc: d", "a:\n- b\n c: d", "a: ]", "a: b]", "a: {b: c}]",
		"a: " + strings.Repeat("[", 60) + strings.Repeat("]", 60),
	} {
		if _, read := simpleYAML([]byte(text)); read {
			t.Errorf("%q: read", text)
		}
	}
}

// FuzzSimple reads anything in both ways.
func FuzzSimple(f *testing.F) {
	for _, data := range chunksOf(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if explainUnreadable(data) == "" && len(splitDocuments("a.yaml", data)) == 1 {
			compareSimple(t, data)
		}
	})
}
