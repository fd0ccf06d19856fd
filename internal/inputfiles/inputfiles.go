// Package inputfiles reads the files that a user names for the compiler, and tells when they change.
package inputfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/message"
)

// Stdin as a path stands for the standard input.
const Stdin = "-"

// maxFiles and maxTotal bound a folder that was named by mistake, such as "/".
const (
	maxFiles = 100_000
	maxTotal = 512 << 20 // bytes
)

// Read reads what the user named: files, folders (every *.yaml, *.yml and *.json below them, in alphabetical order),
// URLs, "-" for the standard input, patterns such as "routes/*.yaml", or several of these with commas between them. A
// file named twice is read once. Of each file no more is read than compiler.Compile needs to refuse it as too large. A
// file of a folder that can't be read is a source with a problem; what the user named must be there. All errors are
// joined.
func Read(paths []string, stdin io.Reader) ([]compiler.Source, error) {
	r := reader{stdin: stdin, seen: map[string]bool{}}
	var errs []error
	for _, p := range expand(paths) {
		if err := r.addPath(p); err != nil {
			errs = append(errs, err)
		}
	}
	return r.sources, errors.Join(errs...)
}

// expand gives what patterns and lists stand for. What is there under the name as it is written is that, whatever its
// name has in it.
func expand(paths []string) (all []string) {
	for _, path := range paths {
		_, err := os.Stat(path)
		matches, noPattern := filepath.Glob(path)
		switch {
		case err == nil || path == Stdin || IsURL(path):
			all = append(all, path)
		case noPattern == nil && len(matches) > 0:
			all = append(all, matches...)
		case strings.Contains(path, ","):
			all = append(all, expand(slices.DeleteFunc(strings.Split(path, ","), func(p string) bool { return p == "" }))...)
		default:
			all = append(all, path)
		}
	}
	return all
}

// reader collects sources.
type reader struct {
	stdin   io.Reader
	sources []compiler.Source
	seen    map[string]bool
	total   int
}

func (r *reader) addPath(path string) error {
	if path == Stdin {
		return r.add("<stdin>", r.stdin)
	}
	if IsURL(path) {
		return r.addURL(path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?["):
		return fmt.Errorf("%s: no file matches this pattern", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such file or folder", path)
	case err != nil:
		return err
	}
	if info.IsDir() {
		return r.addFolder(path)
	}
	return r.addFile(path) // also a pipe, which the user named on purpose
}

func (r *reader) addFolder(path string) error {
	found := false
	err := walk(path, func(name string, info fs.FileInfo, err error) error {
		found = true
		switch {
		case err == nil && !info.Mode().IsRegular():
			err = fmt.Errorf("%s: not a regular file", name)
		case err == nil:
			err = r.addFile(name)
		}
		if err == nil || errors.Is(err, errTooMuch) {
			return err
		}
		return r.addProblem(name, err)
	})
	if err == nil && !found {
		return fmt.Errorf("%s: no *.yaml, *.yml or *.json file below this folder", path)
	}
	return err
}

// walk visits what Read reads of a folder, in alphabetical order, and ends at the first error of visit, which is told
// of files that can't be had, and of folders that this process may not read: whoever owns them is not to hold up all
// others. It follows links to files, and to folders where the folder itself is one. Folders and files whose names begin
// with a dot are left out: what tools keep there is none of the user's objects, and Kubernetes keeps what it mounts
// from a ConfigMap in one, and links every file of it into the folder above.
func walk(folder string, visit func(name string, info fs.FileInfo, err error) error) error {
	folder = filepath.Clean(folder) + string(filepath.Separator) // what a link leads to
	return filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && name != folder:
			return visit(name, nil, err)
		case err != nil:
			return err
		case entry.IsDir() && name != folder && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case strings.HasPrefix(entry.Name(), ".") && !entry.IsDir():
			return nil
		case entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			return nil
		}
		info, err := os.Stat(name)
		if err == nil && info.IsDir() || errors.Is(err, fs.ErrNotExist) && entry.Type().IsRegular() {
			return nil // for it has gone meanwhile
		}
		return visit(name, info, err)
	})
}

func (r *reader) addFile(name string) error {
	if r.seen[filepath.Clean(name)] {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.add(name, f)
}

// addProblem adds a file of a folder that can't be had: it is for the compiler to go on without it, or with what it
// was.
func (r *reader) addProblem(name string, err error) error {
	why := strings.TrimPrefix(message.Explain(err), name+": ")
	r.seen[filepath.Clean(name)] = true
	r.sources = append(r.sources, compiler.Source{Name: name, Data: []byte{}, Problem: "can't be read: " + why})
	return nil
}

// errTooMuch is that of input that is too large as a whole.
var errTooMuch = errors.New("too much input")

// add reads a source up to one byte more than is allowed, by which the compiler sees that it is too large.
func (r *reader) add(name string, from io.Reader) error {
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
		return fmt.Errorf("%s: %w: at most %d files and %d MiB are read", name, errTooMuch, maxFiles, maxTotal>>20)
	}
	r.sources = append(r.sources, compiler.Source{Name: name, Data: data})
	return nil
}
