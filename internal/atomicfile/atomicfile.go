// Package atomicfile writes files that are there whole or not at all: one, or several together.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is one file to write.
type File struct {
	Name string // in its folder
	Data []byte
	Mode fs.FileMode
}

// Write moves new contents into the place of one file, and makes its folder if need be. Whoever reads the file sees all
// of the old contents or all of the new. Nothing is flushed to the disk: a machine that loses power may lose them.
func Write(path string, data []byte, mode fs.FileMode) error {
	return Copy(path, bytes.NewReader(data), mode)
}

// Copy is Write with contents that need not be in memory.
func Copy(path string, from io.Reader, mode fs.FileMode) error {
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	staged, err := stage(dir, name, from, mode, nil)
	if err != nil {
		return err
	}
	if err := os.Rename(staged, path); err != nil {
		_ = os.Remove(staged)
		return err
	}
	return nil
}

// WriteAll writes files into dir, making it if need be, durably: all of them or none. Everything that can fail for a
// common reason (no such folder, no permission, disk full, a folder in the way) fails while the contents are still
// under temporary names in dir; only then do they take their places, in the order given, and if one can't, those that
// have give them back. No reader ever sees half a file.
func WriteAll(dir string, files []File) (err error) {
	made, err := makeDir(dir)
	if err != nil {
		return err
	}
	var staged []string
	defer func() {
		if err != nil {
			for _, path := range staged {
				_ = os.Remove(path)
			}
			if made {
				_ = os.Remove(dir)
			}
		}
	}()
	for _, f := range files {
		path, err := stage(dir, f.Name, bytes.NewReader(f.Data), f.Mode, (*os.File).Sync)
		if err != nil {
			return err
		}
		staged = append(staged, path)
	}
	return replaceAll(dir, files, staged)
}

// makeDir makes dir and tells whether it was missing.
func makeDir(dir string) (made bool, err error) {
	_, err = os.Stat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	return missing, os.MkdirAll(dir, 0o755)
}

// stage writes a file under a temporary name next to its place and returns that name. The name holds nothing of the
// file's own, which may be as long as a file system allows. A flush, if there is one, makes the contents durable.
func stage(dir, name string, from io.Reader, mode fs.FileMode, flush func(*os.File) error) (path string, err error) {
	if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
		return "", fmt.Errorf("write %s: is a folder", filepath.Join(dir, name))
	}
	tmp, err := os.CreateTemp(dir, ".*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = io.Copy(tmp, from)
	err = errors.Join(err, tmp.Chmod(mode))
	if flush != nil {
		err = errors.Join(err, flush(tmp))
	}
	return tmp.Name(), errors.Join(err, tmp.Close())
}
