package livereload

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
	"github.com/limpet-proxy/limpet/internal/memory"
)

// newTestDynamic gives an output that has begun with some routes, and its inputs.
func newTestDynamic(t testing.TB, routes, endpointFiles int) (*Dynamic, Inputs) {
	t.Helper()
	d, err := NewDynamic(t.TempDir(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	d.EndpointFiles = endpointFiles
	d.Options = func(Inputs) compiler.Options { return compiler.Options{Envoy: &compiler.EnvoyOptions{ModulePath: "w"}} }
	d.FileMode = func(*compiler.Result) fs.FileMode { return 0o644 }
	in := Inputs{Sources: scaletest.MakeRoutes(routes)}
	result, err := d.Compile(in)
	if err == nil {
		err = d.Start(result)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d, in
}

// replaceInLast gives the inputs with a word of the last file replaced.
func replaceInLast(t testing.TB, in Inputs, from, to string) Inputs {
	t.Helper()
	sources := append([]compiler.Source(nil), in.Sources...)
	last := &sources[len(sources)-1]
	data := bytes.Replace(last.Data, []byte(from), []byte(to), 1)
	if bytes.Equal(data, last.Data) {
		t.Fatal("nothing changes")
	}
	last.Data = data
	return Inputs{Keys: in.Keys, Sources: sources}
}

// listWritten lists the files that have come into place since a time, by their paths in the folder.
func listWritten(t *testing.T, folder string, before map[string]fs.FileInfo) (written string, now map[string]fs.FileInfo) {
	t.Helper()
	now = map[string]fs.FileInfo{}
	var paths []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if now[relative] = info; before[relative] == nil || !os.SameFile(before[relative], info) {
			paths = append(paths, relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(paths, " "), now
}

// TestDynamicWritesWhatChanged holds which files a change writes: no more than those that are about what changed.
func TestDynamicWritesWhatChanged(t *testing.T) {
	const table = "rds/listener_0.0.0.0_80.pb"
	for _, c := range []struct {
		name, from, to string
		endpointFiles  int
		want           string
	}{
		{"an endpoint", "10.0.0.2]", "10.0.0.3]", 100, "eds/service_default_app-0_80.pb"},
		{"an endpoint of many clusters", "10.0.0.2]", "10.0.0.3]", 0, "cds.pb"},
		{"a label of a Service", "kind: Service\nmetadata:\n", "kind: Service\nmetadata:\n  labels: {a: b}\n", 0, ""},
		{"a route's match", "/cart", "/shop", 0, table},
		{"a policy", "absoluteTimeout: 8h", "absoluteTimeout: 9h", 0, table},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, in := newTestDynamic(t, 3, c.endpointFiles)
			_, before := listWritten(t, d.Publisher.Folder.Path, nil)
			result, err := d.Compile(replaceInLast(t, in, c.from, c.to))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Apply(t.Context(), time.Now(), result); err != nil {
				t.Fatal(err)
			}
			if written, _ := listWritten(t, d.Publisher.Folder.Path, before); written != c.want {
				t.Errorf("wrote %q, want %q", written, c.want)
			}
		})
	}
}
