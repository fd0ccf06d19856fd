package wasmtest

import "sync"

// Shared is the data that VMs of one vm_id share. The zero value is empty.
type Shared struct {
	mu   sync.Mutex
	data map[string]sharedText
}

type sharedText struct {
	text string
	cas  uint32 // grows with every write
}

func (s *Shared) get(key string) (sharedText, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.data[key]
	return found, ok
}

// set writes a text; with a cas that is not 0 only over what has that one.
func (s *Shared) set(key, text string, cas uint32) status {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.data[key]
	if cas != 0 && cas != was.cas {
		return statusCASMismatch
	}
	if s.data == nil {
		s.data = map[string]sharedText{}
	}
	s.data[key] = sharedText{text, was.cas + 1}
	return statusOK
}

// sharedData is what the VM was given, or data of its own.
func (vm *VM) sharedData() *Shared {
	if vm.shared == nil {
		vm.shared = &Shared{}
	}
	return vm.shared
}

// getSharedData takes (key, size, where to put the text, its size and its cas).
func getSharedData(vm *VM, a args) status {
	key, ok := vm.view(a.u32(0), a.u32(1))
	if !ok {
		return statusInvalidMemory
	}
	found, ok := vm.sharedData().get(string(key))
	if !ok {
		return statusNotFound
	}
	if answer := vm.give(found.text, a.u32(2), a.u32(3)); answer != statusOK {
		return answer
	}
	if !vm.mem.WriteUint32Le(a.u32(4), found.cas) {
		return statusInvalidMemory
	}
	return statusOK
}

// setSharedData takes (key, size, text, size, cas).
func setSharedData(vm *VM, a args) status {
	key, ok := vm.view(a.u32(0), a.u32(1))
	text, ok2 := vm.view(a.u32(2), a.u32(3))
	if !ok || !ok2 {
		return statusInvalidMemory
	}
	return vm.sharedData().set(string(key), string(text), a.u32(4))
}
