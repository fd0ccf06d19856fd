package main

import (
	"io/fs"
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
// limpet runs and those that fetch the filter.
func (sc *serveCommand) shardPath() (string, error) {
	if place := sc.config.filter.place; place != "" && sc.proxies.image == "" {
		return filepath.Abs(filepath.Join(filepath.Dir(place), shardName))
	}
	return filepath.Join(proxies.HelperFolder, shardName), nil
}
