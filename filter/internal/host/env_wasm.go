//go:build tinygo.wasm

package host

import (
	"strings"
	"unsafe"
)

//go:wasmimport wasi_snapshot_preview1 environ_sizes_get
func environSizesGet(count, size *uint32) uint32

//go:wasmimport wasi_snapshot_preview1 environ_get
func environGet(pointers *uint32, buf *byte) uint32

// readEnv reads one variable of Envoy's vm_config.environment_variables straight from WASI. os.Getenv must not be used
// in the module: it links libc's environ, whose constructor calls libc's malloc, and that allocator takes
// memory which TinyGo's garbage collector believes to be its own.
func readEnv(name string) string {
	var count, size uint32
	if environSizesGet(&count, &size) != 0 || size == 0 {
		return ""
	}
	pointers, buf := make([]uint32, count), make([]byte, size)
	if environGet(&pointers[0], &buf[0]) != 0 {
		return ""
	}
	for _, entry := range strings.Split(unsafe.String(&buf[0], len(buf)), "\x00") {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return strings.Clone(value)
		}
	}
	return ""
}
