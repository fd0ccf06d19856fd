package wasmtest

import "math"

// view returns the guest's own bytes: they are valid until the guest runs again.
func (vm *VM) view(ptr, size uint32) ([]byte, bool) {
	return vm.mem.Read(ptr, size)
}

// allocate asks the guest for a buffer of size bytes, which is not zero.
func (vm *VM) allocate(size int) (ptr uint32, ok bool) {
	if size > math.MaxInt32 {
		return 0, false
	}
	vm.allocStack[0] = uint64(size)
	if err := vm.guest.allocate.CallWithStack(vm.ctx, vm.allocStack[:]); err != nil {
		panic(err) // the guest trapped inside its own call; this unwinds that call too
	}
	ptr = uint32(vm.allocStack[0])
	return ptr, ptr != 0
}

// give hands text to the guest in a new buffer and writes its place and size where the guest asked for them. An empty
// text gets no buffer: place and size are zero.
func (vm *VM) give(text string, ptrOut, sizeOut uint32) status {
	if text == "" {
		return vm.point(0, 0, ptrOut, sizeOut)
	}
	ptr, ok := vm.allocate(len(text))
	if !ok || !vm.mem.WriteString(ptr, text) {
		return statusInvalidMemory
	}
	return vm.point(ptr, len(text), ptrOut, sizeOut)
}

// givePairs hands header lines to the guest as give does.
func (vm *VM) givePairs(lines [][2]string, ptrOut, sizeOut uint32) status {
	if len(lines) == 0 {
		return vm.point(0, 0, ptrOut, sizeOut)
	}
	size := pairsSize(lines)
	ptr, ok := vm.allocate(size)
	if !ok {
		return statusInvalidMemory
	}
	b, ok := vm.view(ptr, uint32(size))
	if !ok {
		return statusInvalidMemory
	}
	putPairs(b, lines)
	return vm.point(ptr, size, ptrOut, sizeOut)
}

func (vm *VM) point(ptr uint32, size int, ptrOut, sizeOut uint32) status {
	if !vm.mem.WriteUint32Le(ptrOut, ptr) || !vm.mem.WriteUint32Le(sizeOut, uint32(size)) {
		return statusInvalidMemory
	}
	return statusOK
}
