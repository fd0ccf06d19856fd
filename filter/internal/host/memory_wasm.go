//go:build tinygo.wasm

package host

import "unsafe"

// memoryPages is the wasm instruction memory.size.
//
//export llvm.wasm.memory.size.i32
func memoryPages(index int32) int32

const pageSize = 64 << 10

func memoryBytes() int64 { return int64(memoryPages(0)) * pageSize }

// scratch is where the host puts what it returns during one callback of a stream, so that requests allocate nothing.
// Where the buffer is too small, one of twice the size replaces it for good; what Envoy allows for a request's headers
// bounds it.
var scratch = struct {
	buffer []byte
	used   uint32
	open   bool
}{buffer: make([]byte, 16<<10)}

// begin empties scratch. Strings that a host call returned in an earlier callback are void from here on.
func begin() { scratch.used, scratch.open = 0, true }

// lasting keeps what the host returns outside of streams' callbacks alive from when it asks for the memory until the
// plugin has it.
var lasting []byte

// allocate is called by the host for every value that it returns.
//
//go:wasmexport proxy_on_memory_allocate
func allocate(size uint32) unsafe.Pointer {
	if !scratch.open {
		lasting = make([]byte, max(size, 1))
		return unsafe.Pointer(&lasting[0])
	}
	if uint64(scratch.used)+uint64(size) >= uint64(len(scratch.buffer)) {
		// Strings in the former buffer keep it until this callback ends.
		scratch.buffer, scratch.used = make([]byte, max(2*uint64(len(scratch.buffer)), uint64(size)+1)), 0
	}
	p := unsafe.Pointer(&scratch.buffer[scratch.used])
	scratch.used += (size + 7) &^ 7
	return p
}
