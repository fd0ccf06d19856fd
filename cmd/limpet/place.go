package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// placed is a file that has taken its place, and what was there before it under another name; empty for nothing.
type placed struct{ path, before string }

// putAll moves staged files to their places in dir, in the order given, and makes that durable: all of them, or none.
// What was there is kept until all are in place, and brought back if one can't be.
func putAll(dir string, files []outputFile, staged []string) error {
	var done []placed
	for i, f := range files {
		p, err := replace(staged[i], filepath.Join(dir, f.name))
		if err != nil {
			return errors.Join(err, restore(done))
		}
		done = append(done, p)
	}
	if err := syncDir(dir); err != nil {
		return errors.Join(err, restore(done))
	}
	for _, p := range done {
		if p.before != "" {
			_ = os.Remove(p.before) // it is in nobody's way
		}
	}
	return nil
}

// replace moves one staged file to its place.
func replace(staged, path string) (placed, error) {
	p := placed{path: path}
	switch info, err := os.Lstat(path); {
	case err == nil && info.IsDir():
		return placed{}, fmt.Errorf("write %s: is a folder", path)
	case err == nil:
		p.before = staged + ".before"
		if err := keep(path, p.before); err != nil {
			return placed{}, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return placed{}, err
	}
	if err := os.Rename(staged, path); err != nil {
		return placed{}, errors.Join(err, restore([]placed{p}))
	}
	return p, nil
}

// keep gives a file a second name, so that it is there all the time; or, where a file can't have two, another name.
func keep(path, as string) error {
	if os.Link(path, as) == nil {
		return nil
	}
	return os.Rename(path, as)
}

// restore undoes what was placed, the last first.
func restore(done []placed) error {
	var errs []error
	for _, p := range slices.Backward(done) {
		if p.before == "" {
			if err := os.Remove(p.path); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			continue
		}
		errs = append(errs, os.Rename(p.before, p.path))
		_ = os.Remove(p.before) // still there where both were names of one file
	}
	return errors.Join(errs...)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
