package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/proxies"
)

// shardName is the name of the module that says in which shard of its routes a host is. One that says otherwise has
// another number, for limpet and Envoys may be of different releases.
const shardName = "limpet-shard-1.so"

// embeddedShard is the name of the embedded one for an architecture, in Go's words.
func embeddedShard(arch string) string { return "limpet-shard-" + arch + ".so" }

// shardFiles is the module for Envoys of this machine; nothing where this limpet has none for it.
func shardFiles() []atomicfile.File {
	data, err := fs.ReadFile(filterFiles, "filters/"+embeddedShard(runtime.GOARCH))
	if err != nil {
		return nil
	}
	return []atomicfile.File{{Name: shardName, Data: data, Mode: 0o644}}
}

// shardPath is where Envoys look for it: beside the filter, or where "limpet drain --install" puts it for those that
// limpet runs; empty for others that fetch the filter. Sees says that limpet sees it there.
func (sc *serveCommand) shardPath() (path string, sees bool, err error) {
	switch place := sc.config.filter.place; {
	case sc.proxies.image != "":
		return filepath.Join(proxies.HelperFolder, shardName), false, nil
	case place != "":
		path, err = filepath.Abs(filepath.Join(filepath.Dir(place), shardName))
		_, none := os.Stat(path)
		return path, none == nil, err
	default:
		return "", false, nil
	}
}
