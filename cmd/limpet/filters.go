package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// wasmName is the name of the filter's module, wherever limpet writes it.
const wasmName = "limpet.wasm"

// embedded is the folder into which "make build" and "make native" put the filters. A fresh clone has only its README,
// so that "go build ./..." works before anything else was built.
//
//go:embed all:filters
var embedded embed.FS

// filterFiles is where the filters are; tests put some of their own there.
var filterFiles fs.FS = embedded

// readModule reads the embedded limpet.wasm.
func readModule() ([]byte, error) {
	data, err := fs.ReadFile(filterFiles, "filters/"+wasmName)
	if err != nil {
		return nil, errors.New("this limpet was built without limpet.wasm: run 'make build'")
	}
	return data, nil
}

// nativeName is the name of the embedded native filter for an architecture, in Go's words.
func nativeName(arch string) string { return "liblimpet-" + arch + ".so" }

func isEmbedded(name string) bool {
	_, err := fs.Stat(filterFiles, "filters/"+name)
	return err == nil
}

// readNative reads the embedded native filter for an architecture.
func readNative(arch string) ([]byte, error) {
	data, err := fs.ReadFile(filterFiles, "filters/"+nativeName(arch))
	if err != nil {
		return nil, fmt.Errorf("this limpet was built without the native filter for %s: run 'make native', "+
			"or name a file with --filter-path", arch)
	}
	return data, nil
}
