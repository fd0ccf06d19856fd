package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkoutMark is in front of the blocks that TestCheckout runs.
const checkoutMark = "<!-- not run: TestCheckout of e2e/install runs it on a real API server -->\n```sh\n"

// TestCheckout does what the page says of a cluster to which limpet comes from a checkout: the image of the file runs there under the name
// that the chart asks for, and limpet status finds it from outside.
func TestCheckout(t *testing.T) {
	text := readFile(t, "../../docs/install.md")
	blocks := strings.Split(text, checkoutMark)[1:]
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks for a checkout", len(blocks))
	}
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "\n```")
	}
	root := absolute(t, "../..")
	build := exec.Command("bash", "-eu", "-c", blocks[0])
	build.Dir = root
	printed(t, build)
	program, names := unpackImage(t, filepath.Join(root, "dist/image.tar"))
	c := startClusterWith(t, program)
	s := newShell(t, c)
	charts := filepath.Join(s.folder, "dist/deploy/chart")
	if err := os.CopyFS(charts, os.DirFS(filepath.Join(root, "dist/deploy/chart"))); err != nil {
		t.Fatal(err)
	}
	s.run(t, `sed -i '/^kubeVersion:/d' dist/deploy/chart/limpet/Chart.yaml`) // as newShell says
	s.run(t, readPage(t).blocks["In a cluster"][0])
	s.run(t, blocks[1])
	image := s.run(t, `kubectl -n limpet-system get deployment limpet -o jsonpath='{.spec.template.spec.containers[0].image}'`)
	if !slices.Contains(names, image) {
		t.Errorf("the chart asks for %s, and the file has %q", image, names)
	}
	if printed := s.run(t, `limpet status --kubeconfig "$KUBECONFIG"`); strings.Count(printed, "Pod limpet-system/limpet-") != 2 || !strings.Contains(printed, "FINGERPRINT") {
		t.Errorf("limpet status says\n%s", printed)
	}
}

// unpackImage gives the program of an image that "docker load" would take, and what it is called.
func unpackImage(t *testing.T, file string) (program string, names []string) {
	t.Helper()
	all := readTar(t, strings.NewReader(readFile(t, file)))
	var manifest []struct{ RepoTags, Layers []string }
	if err := json.Unmarshal(all["manifest.json"], &manifest); err != nil || len(manifest) != 1 || len(manifest[0].Layers) != 1 {
		t.Fatalf("%v: %+v", err, manifest)
	}
	layer, err := gzip.NewReader(bytes.NewReader(all[manifest[0].Layers[0]]))
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "limpet")
	if err := os.WriteFile(program, readTar(t, layer)["usr/local/bin/limpet"], 0o755); err != nil {
		t.Fatal(err)
	}
	return program, manifest[0].RepoTags
}

// readTar gives the files of an archive.
func readTar(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err == nil {
			all[header.Name], err = io.ReadAll(archive)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
