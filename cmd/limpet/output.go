package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// outputFile is one file to write.
type outputFile struct {
	name string
	data []byte
	mode fs.FileMode
}

// writeInto writes files into dir as [writeFiles] does, unless another limpet keeps dir up to date.
func writeInto(dir string, files []outputFile) error {
	held, err := hold(dir, holdOnce)
	if err != nil {
		return err
	}
	defer held.release()
	return writeFiles(dir, files)
}

// writeFiles writes files into dir, making it if need be: all of them or none. Everything that can fail for a common
// reason (no such folder, no permission, disk full, a folder in the way) fails while the contents are still
// under temporary names in dir; only then do they take their places, in the order given, and if one can't, those that
// have give them back. Nobody ever sees half a file.
func writeFiles(dir string, files []outputFile) (err error) {
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
		path, err := stage(dir, f)
		if err != nil {
			return err
		}
		staged = append(staged, path)
	}
	return putAll(dir, files, staged)
}

// makeDir makes dir and tells whether it was missing.
func makeDir(dir string) (made bool, err error) {
	_, err = os.Stat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	return missing, os.MkdirAll(dir, 0o755)
}

// stage writes a file under a temporary name beside its place, durably, and returns that name.
func stage(dir string, f outputFile) (path string, err error) {
	if info, err := os.Stat(filepath.Join(dir, f.name)); err == nil && info.IsDir() {
		return "", fmt.Errorf("write %s: is a folder", filepath.Join(dir, f.name))
	}
	tmp, err := os.CreateTemp(dir, "."+f.name+".*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(f.data)
	err = errors.Join(err, tmp.Chmod(f.mode), tmp.Sync(), tmp.Close())
	return tmp.Name(), err
}
