//go:build !tinygo.wasm

package host

// memoryBytes is 0 outside wasm, where there is no linear memory to watch.
func memoryBytes() int64 { return 0 }
