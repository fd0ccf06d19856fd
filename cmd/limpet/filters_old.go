package main

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// nativeFile is the name of a native filter that limpet writes.
var nativeFile = regexp.MustCompile(`^liblimpet-[0-9a-f]{16}\.so$`)

// removeOld removes native filters from a folder that nothing there refers to any more, but for the one before this: an Envoy may still
// start with what was there before, as in a hot restart. What an Envoy has loaded stays loaded.
func (f *filterFlags) removeOld(dir string) error {
	if !f.isNative() || f.path() != "" {
		return nil
	}
	name, err := f.name()
	if err != nil {
		return err
	}
	old, err := listOldFilters(dir, name)
	for i, file := range old {
		if i > 0 {
			err = cmp.Or(err, os.Remove(filepath.Join(dir, file)))
		}
	}
	return err
}

// listOldFilters gives the native filters in a folder but for one, the newest first.
func listOldFilters(dir, current string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == current || !e.Type().IsRegular() || !nativeFile.MatchString(e.Name())
	})
	written := func(e fs.DirEntry) time.Time {
		info, failed := e.Info()
		if failed != nil {
			err = cmp.Or(err, failed)
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return written(b).Compare(written(a)) })
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}
