//go:build !tinygo.wasm

package host

import "os"

// getenv is os.Getenv outside wasm.
func getenv(name string) string { return os.Getenv(name) }
