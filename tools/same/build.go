package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed batch.go.txt
var batchFile string

// entry names the functions of cmd/limpet that batch.go.txt calls.
type entry struct{ newRoot, exitCode string }

// The entries of the two trees. Where today's tree renames one, newEntry follows.
var (
	oldEntry = entry{"newRoot", "exitCode"}
	newEntry = entry{"newRoot", "exitCode"}
)

// embedded is what both builds have in place of the filter and its bill of materials. Configurations hold no more of
// the filter than its sum, which must be equal; so nothing here needs TinyGo.
var embedded = map[string]string{
	"limpet.wasm":      "the filter's module\n",
	"limpet.spdx.json": `{"spdxVersion": "SPDX-2.3"}` + "\n",
}

// cacheDirs are where old trees are kept, and where the builds and inputs of a working tree are: several working trees
// may be compared at a time.
func cacheDirs(root string) (trees, own string, err error) {
	cache, err := os.UserCacheDir()
	dir := filepath.Join(cache, "limpet-same")
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, "trees"), filepath.Join(dir, hex.EncodeToString(sum[:6])), err
}

// checkout gives a folder with the files of a revision, from the cache if they are there.
func checkout(repository, revision, cache string) (string, error) {
	commit, err := git(repository, "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("there is no revision %s: %w", revision, err)
	}
	dir := filepath.Join(cache, commit)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	partial, err := os.MkdirTemp(cache, "partial-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(partial)
	archive := filepath.Join(partial, "tree.tar")
	if _, err := git(repository, "archive", "--format=tar", "--prefix=tree/", "-o", archive, commit); err != nil {
		return "", err
	}
	if text, err := exec.Command("tar", "-x", "-f", archive, "-C", partial).CombinedOutput(); err != nil {
		return "", fmt.Errorf("tar: %w: %s", err, text)
	}
	return dir, os.Rename(filepath.Join(partial, "tree"), dir)
}

// git runs git and gives what it prints.
func git(repository string, args ...string) (string, error) {
	command := exec.Command("git", append([]string{"-C", repository}, args...)...)
	command.Stderr = os.Stderr
	text, err := command.Output()
	return strings.TrimSpace(string(text)), err
}

// build builds a tree's limpet with batch.go.txt in it.
func build(tree string, e entry, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	overlay, err := writeOverlay(tree, e, dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "limpet")
	command := exec.Command("go", "build", "-buildvcs=false", "-overlay", overlay,
		"-ldflags", "-s -w -X main.version=same", "-o", binary, "./cmd/limpet")
	command.Dir = tree
	if text, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", tree, err, text)
	}
	return binary, nil
}

// writeOverlay writes what the build has in addition to the tree: the batch, and the files to embed.
func writeOverlay(tree string, e entry, dir string) (string, error) {
	command := filepath.Join(tree, "cmd", "limpet")
	filled := strings.NewReplacer("NEW_ROOT", e.newRoot, "EXIT_CODE", e.exitCode).Replace(batchFile)
	contents := map[string]string{filepath.Join(command, "zz_batch.go"): filled}
	for name, text := range embedded {
		for _, folder := range []string{"filters", "wasm"} { // wasm in earlier revisions
			contents[filepath.Join(command, folder, name)] = text
		}
	}
	replace := map[string]string{}
	for path, text := range contents {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, overlay, 0o600)
}
