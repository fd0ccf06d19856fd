//go:build limpet.native

package main

import (
	"runtime"
	"unsafe"
)

// TinyGo takes its memory from here: c/memory.c has the arenas. Nothing is freed one by one.

//export limpet_allocate
func allocate(size uintptr) unsafe.Pointer

//go:linkname alloc runtime.alloc
func alloc(bytes uintptr, _ unsafe.Pointer) unsafe.Pointer { return allocate(bytes) }

//go:linkname initHeap runtime.initHeap
func initHeap() {}

//go:linkname free runtime.free
func free(unsafe.Pointer) {}

//go:linkname markRoots runtime.markRoots
func markRoots(_, _ uintptr) {}

//go:linkname gc runtime.GC
func gc() {}

//go:linkname setFinalizer runtime.SetFinalizer
func setFinalizer(_, _ any) {}

//go:linkname readMemStats runtime.ReadMemStats
func readMemStats(*runtime.MemStats) {}

//export limpet_lasting
func hostLasting(on uint32)

// lasting is session.Proxy's: the engine's own arena takes the place of the hook's.
func lasting(on bool) { hostLasting(number(on)) }

//export limpet_own
func hostOwn() uintptr

//export limpet_give
func hostGive(memory uintptr)

// own and give are session.Proxy's Own and Free.
func own() uintptr { return hostOwn() }

func give(memory uintptr) { hostGive(memory) }

func number(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
