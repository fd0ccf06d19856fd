//go:build tinygo.wasm

package host

import "unsafe"

// memoryPages is the wasm instruction memory.size.
//
//export llvm.wasm.memory.size.i32
func memoryPages(index int32) int32

const pageSize = 64 << 10

func memoryBytes() int64 { return int64(memoryPages(0)) * pageSize }

// scratch is where the host puts what it returns during one callback of a stream, so that a usual request allocates
// nothing. What does not fit goes to the heap.
var scratch struct {
	room [16 << 10]byte
	used uint32
	open bool
}

// large keeps a buffer on the heap alive from when the host asks for it until the plugin has it.
var large []byte

// begin empties scratch. Strings that a host call returned in an earlier callback are void from here on.
func begin() { scratch.used, scratch.open = 0, true }

// allocate is called by the host for every value that it returns.
//
//go:wasmexport proxy_on_memory_allocate
func allocate(size uint32) unsafe.Pointer {
	if scratch.open && size <= uint32(len(scratch.room))-scratch.used {
		p := unsafe.Pointer(&scratch.room[scratch.used])
		scratch.used += (size + 7) &^ 7
		return p
	}
	large = make([]byte, max(size, 1))
	return unsafe.Pointer(&large[0])
}
