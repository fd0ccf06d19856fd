package wasmtest

// The header maps of a stream, numbered as in proxy-wasm ABI 0.2. The others (trailers and callouts) are never there.
const (
	mapRequestHeaders  = 0
	mapResponseHeaders = 2
	mapMax             = 7
)

// stored returns the map number n of the stream that runs, or nil.
func (vm *VM) stored(n uint32) *headers {
	switch {
	case vm.current == nil:
		return nil
	case n == mapRequestHeaders:
		return &vm.current.request
	case n == mapResponseHeaders:
		return &vm.current.response
	}
	return nil
}

// writable returns the map number n if the guest may change it now. The log callback changes nothing.
func (vm *VM) writable(n uint32) (*headers, status) {
	m := vm.stored(n)
	if m == nil || !m.open {
		return nil, statusBadArgument
	}
	return m, statusOK
}

// readable returns the map number n if the guest may read it now. Outside of the log callback that is the map of the
// message whose callback runs; what is missing in the log callback is not found rather than asked for at a wrong time.
func (vm *VM) readable(n uint32) (*headers, status) {
	m := vm.stored(n)
	switch {
	case n > mapMax:
		return nil, statusBadArgument
	case vm.current != nil && vm.current.logging:
		if m == nil || m.lines == nil {
			return nil, statusNotFound
		}
	case m == nil || !m.open:
		return nil, statusBadArgument
	}
	return m, statusOK
}

// getHeader takes (map, name, size, &place, &size).
func getHeader(vm *VM, a args) status {
	name, ok := vm.view(a.u32(1), a.u32(2))
	if !ok {
		return statusInvalidMemory
	}
	m, s := vm.readable(a.u32(0))
	if s != statusOK {
		return s
	}
	value, ok := m.first(lower(string(name)))
	if !ok {
		return statusNotFound
	}
	return vm.give(value, a.u32(3), a.u32(4))
}

// getHeaders takes (map, &place, &size). A map that is not there is an empty one.
func getHeaders(vm *VM, a args) status {
	if a.u32(0) > mapMax {
		return statusBadArgument
	}
	m, s := vm.readable(a.u32(0))
	if s != statusOK {
		return vm.givePairs(nil, a.u32(1), a.u32(2))
	}
	return vm.givePairs(m.lines, a.u32(1), a.u32(2))
}

// setHeaders takes (map, place, size) and replaces every line.
func setHeaders(vm *VM, a args) status {
	block, ok := vm.view(a.u32(1), a.u32(2))
	if !ok {
		return statusInvalidMemory
	}
	m, s := vm.writable(a.u32(0))
	if s == statusOK {
		m.lines = m.lines[:0]
		for _, line := range parsePairs(block) {
			m.add(line[0], line[1])
		}
	}
	return s
}

// addHeader takes (map, name, size, value, size).
func addHeader(vm *VM, a args) status {
	return vm.changeHeader(a, (*headers).add)
}

// replaceHeader takes (map, name, size, value, size).
func replaceHeader(vm *VM, a args) status {
	return vm.changeHeader(a, (*headers).replace)
}

func (vm *VM) changeHeader(a args, change func(m *headers, name, value string)) status {
	name, ok1 := vm.view(a.u32(1), a.u32(2))
	value, ok2 := vm.view(a.u32(3), a.u32(4))
	if !ok1 || !ok2 {
		return statusInvalidMemory
	}
	m, s := vm.writable(a.u32(0))
	if s == statusOK {
		change(m, lower(string(name)), string(value))
	}
	return s
}

// removeHeader takes (map, name, size).
func removeHeader(vm *VM, a args) status {
	name, ok := vm.view(a.u32(1), a.u32(2))
	if !ok {
		return statusInvalidMemory
	}
	m, s := vm.writable(a.u32(0))
	if s == statusOK {
		m.remove(lower(string(name)))
	}
	return s
}
