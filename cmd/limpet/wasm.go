package main

import (
	"embed"
	"errors"
	"io/fs"
)

// wasmName is the name of the filter's module, wherever limpet writes it.
const wasmName = "limpet.wasm"

// embedded is the folder into which "make build" puts the module. A fresh clone has only its README,
// so that "go build ./..." works before anything else was built.
//
//go:embed all:wasm
var embedded embed.FS

// wasmFiles is where wasmModule looks; tests put a module of their own there.
var wasmFiles fs.FS = embedded

// readModule reads the embedded filter.
func readModule() ([]byte, error) {
	data, err := fs.ReadFile(wasmFiles, "wasm/"+wasmName)
	if err != nil {
		return nil, errors.New("this limpet was built without limpet.wasm: run 'make build'")
	}
	return data, nil
}
