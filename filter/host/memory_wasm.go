//go:build tinygo.wasm

package host

// memoryPages is the wasm instruction memory.size.
//
//export llvm.wasm.memory.size.i32
func memoryPages(index int32) int32

const pageSize = 64 << 10

func memoryBytes() int64 { return int64(memoryPages(0)) * pageSize }
