package compiler_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
)

// TestStatuses holds that Statuses says of each object what Check does, and no more.
func TestStatuses(t *testing.T) {
	files, err := filepath.Glob("testdata/tenants-*.in.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d inputs: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources := []compiler.Source{{Name: file, Data: text}}
		checked, err := compiler.Check(sources, compiler.Options{AllowEmpty: true})
		if err != nil {
			t.Fatal(err)
		}
		statuses, err := compiler.Statuses(sources, compiler.Options{AllowEmpty: true})
		if err != nil || len(statuses.Rows) > 0 || len(checked.Objects) == 0 || !reflect.DeepEqual(statuses.Objects, checked.Objects) {
			t.Errorf("%s: %v, %d rows, %d of %d objects", file, err, len(statuses.Rows), len(statuses.Objects), len(checked.Objects))
		}
	}
}
