package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// shardName is the name of the module that says in which shard of its routes a host is. One that says otherwise has
// another number, for limpet and Envoys may be of different releases.
const shardName = "limpet-shard-1.so"

// shardPath is where Envoys find it: beside the filter. It is empty where limpet does not see it there.
func (f *filterFlags) shardPath() (string, error) {
	if f.place == "" {
		return "", nil
	}
	path, err := filepath.Abs(filepath.Join(filepath.Dir(f.place), shardName))
	if _, none := os.Stat(path); errors.Is(none, fs.ErrNotExist) {
		return "", err
	}
	return path, err
}
