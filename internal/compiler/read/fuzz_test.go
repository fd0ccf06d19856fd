package read

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// FuzzDocuments reads anything. It must not panic; it gives the same twice; it gives documents or says why not; and
// what it says fits on one printable line and points into the file.
func FuzzDocuments(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("..", "..", "..", "compiler", "testdata", "*.in.*"))
	if err != nil || len(seeds) < 50 {
		f.Fatalf("%d seeds found (%v)", len(seeds), err)
	}
	for _, s := range seeds {
		data, err := os.ReadFile(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, filepath.Ext(s) == ".json")
	}
	f.Fuzz(func(t *testing.T, data []byte, isJSON bool) {
		name := "fuzz.yaml"
		if isJSON {
			name = "fuzz.json"
		}
		rep := &report.Report{}
		docs := ParseDocuments([]Source{{Name: name, Data: data}}, rep)
		if len(docs) == 0 && len(rep.Unreadable()) == 0 && !hasNoObject(data) {
			t.Error("neither a document nor an error")
		}
		again := ParseDocuments([]Source{{Name: name, Data: data}}, &report.Report{})
		if len(again) != len(docs) {
			t.Fatalf("%d documents, then %d", len(docs), len(again))
		}
		lines := len(lineBreaks.FindAllIndex(data, -1)) + 1
		for i, d := range docs {
			if !reflect.DeepEqual(d.Fields, again[i].Fields) {
				t.Error("two readings differ")
			}
			if _, line := d.Locate("spec.rules[0].matches"); line < 1 || line > lines {
				t.Errorf("line %d of %d", line, lines)
			}
		}
		checkErrors(t, rep.Errors(false), lines)
	})
}

// lineBreaks are those of YAML 1.1, which knows more of them than editors do.
var lineBreaks = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

// hasNoObject tells of the ways in which a sound file gives nothing: empty lists, comments, separators, and tags of nothing.
func hasNoObject(data []byte) bool {
	return bytes.Contains(data, []byte("items")) || bytes.ContainsAny(data, "#-%.!")
}

func checkErrors(t *testing.T, errs report.Errors, lines int) {
	t.Helper()
	for _, e := range errs {
		text := e.String()
		if e.Line > lines || len(text) > 1500 || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
			t.Errorf("line %d of %d: %q", e.Line, lines, text)
		}
	}
}
