package compiler

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// Stdin as a path stands for the standard input.
const Stdin = "-"

// maxFiles and maxTotal bound a folder that was named by mistake, such as "/".
const (
	maxFiles = 100_000
	maxTotal = 512 << 20 // bytes
)

// ReadPaths reads the files that the user named: files, folders (every *.yaml, *.yml and *.json below them, in
// alphabetical order), or "-" for the standard input. A file named twice is read once. Of each file no more is
// read than Compile needs to refuse it as too large. All errors are joined.
func ReadPaths(paths []string, stdin io.Reader) ([]Source, error) {
	r := pathReader{stdin: stdin, seen: map[string]bool{}}
	var errs []error
	for _, p := range paths {
		if err := r.readPath(p); err != nil {
			errs = append(errs, err)
		}
	}
	return r.sources, errors.Join(errs...)
}

type pathReader struct {
	stdin   io.Reader
	sources []Source
	seen    map[string]bool
	total   int
}

func (r *pathReader) readPath(path string) error {
	if path == Stdin {
		return r.readFrom("<stdin>", r.stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return r.readFolder(path)
	}
	return r.readFile(path) // also a pipe, which the user named on purpose
}

func (r *pathReader) readFolder(path string) error {
	before := len(r.seen)
	err := Manifests(path, func(name string, info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: not a regular file", name)
		}
		return r.readFile(name)
	})
	if err == nil && len(r.seen) == before {
		return fmt.Errorf("%s: no *.yaml, *.yml or *.json file below this folder", path)
	}
	return err
}

// Manifests visits what ReadPaths reads of a folder, in alphabetical order, and ends at the first error. It follows links
// to files and not to folders. Folders whose names begin with ".." are left out: Kubernetes keeps what it mounts from
// a ConfigMap in one, and links every file of it into the folder above.
func Manifests(folder string, visit func(name string, info fs.FileInfo) error) error {
	return filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != folder && strings.HasPrefix(entry.Name(), ".."):
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			return nil
		}
		info, err := os.Stat(name)
		if err != nil || info.IsDir() {
			return err
		}
		return visit(name, info)
	})
}

func (r *pathReader) readFile(name string) error {
	if r.seen[filepath.Clean(name)] {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.readFrom(name, f)
}

// readFrom reads a source up to one byte more than is allowed, by which Compile sees that it is too large.
func (r *pathReader) readFrom(name string, from io.Reader) error {
	if r.seen[filepath.Clean(name)] {
		return nil
	}
	r.seen[filepath.Clean(name)] = true
	data, err := io.ReadAll(io.LimitReader(from, read.MaxFile+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.total += len(data)
	if len(r.seen) > maxFiles || r.total > maxTotal {
		return fmt.Errorf("%s: too much input: at most %d files and %d MiB are read", name, maxFiles, maxTotal>>20)
	}
	r.sources = append(r.sources, Source{Name: name, Data: data})
	return nil
}
