package plugincheck

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// mistakesPart is where an archive has what is to be said of its other files.
const mistakesPart = "mistakes"

// TestRefused: configurations of many kinds, as somebody writes them who has not read the checks. Each has one mistake, which its first
// line names, and all that is said is of that.
func TestRefused(t *testing.T) {
	paths, err := filepath.Glob("testdata/refused/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var files []File
			var wanted *txtar.File
			for i := range archive.Files {
				if f := &archive.Files[i]; f.Name == mistakesPart {
					wanted = f
				} else {
					files = append(files, File{f.Name, f.Data})
				}
			}
			got := check(t, files...)
			if got == "" {
				t.Fatal("no mistake was found")
			}
			if *update {
				wanted.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if string(wanted.Data) != got {
				t.Errorf("got\n%s\nwant\n%s", got, wanted.Data)
			}
		})
	}
}
