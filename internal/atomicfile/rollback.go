package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// replacement is a file that has taken its place, and what was there before it under another name; empty for nothing.
type replacement struct{ path, before string }

// replaceAll moves staged files to their places in dir, in the order given, and makes that durable: all of them, or
// none. What was there is kept until all are in place, and brought back if one can't be.
func replaceAll(dir string, files []File, staged []string) error {
	var done []replacement
	for i, f := range files {
		r, err := replace(staged[i], filepath.Join(dir, f.Name))
		if err != nil {
			return errors.Join(err, restore(done))
		}
		done = append(done, r)
	}
	if err := syncDir(dir); err != nil {
		return errors.Join(err, restore(done))
	}
	for _, r := range done {
		if r.before != "" {
			_ = os.Remove(r.before) // one that stays behind does no harm
		}
	}
	return nil
}

// replace moves one staged file to its place.
func replace(staged, path string) (replacement, error) {
	r := replacement{path: path}
	switch info, err := os.Lstat(path); {
	case err == nil && info.IsDir():
		return replacement{}, fmt.Errorf("write %s: is a folder", path)
	case err == nil:
		r.before = staged + ".before"
		if err := keepAs(path, r.before); err != nil {
			return replacement{}, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return replacement{}, err
	}
	if err := os.Rename(staged, path); err != nil {
		return replacement{}, errors.Join(err, restore([]replacement{r}))
	}
	return r, nil
}

// keepAs gives a file a second name, so that it is there all the time; or, where a file can't have two, another name.
func keepAs(path, as string) error {
	if os.Link(path, as) == nil {
		return nil
	}
	return os.Rename(path, as)
}

// restore undoes replacements, the last first.
func restore(done []replacement) error {
	var errs []error
	for _, r := range slices.Backward(done) {
		if r.before == "" {
			if err := os.Remove(r.path); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			continue
		}
		errs = append(errs, os.Rename(r.before, r.path))
		_ = os.Remove(r.before) // still there where both were names of one file
	}
	return errors.Join(errs...)
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
