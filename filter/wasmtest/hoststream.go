package wasmtest

import (
	"bytes"
	"strings"
)

// The guest names a property by the parts of its path with zero bytes between them. Callers of this package join the
// parts with dots.

// joined returns path with dots. The result is valid until the next call.
func (vm *VM) joined(path []byte) []byte {
	vm.path = append(vm.path[:0], bytes.TrimSuffix(path, []byte{0})...)
	for i, c := range vm.path {
		if c == 0 {
			vm.path[i] = '.'
		}
	}
	return vm.path
}

// getProperty takes (path, size, &place, &size). The guest reads what it set itself only by a path of one part.
func getProperty(vm *VM, a args) status {
	path, ok := vm.view(a.u32(0), a.u32(1))
	if !ok {
		return statusInvalidMemory
	}
	if vm.current == nil {
		return statusNotFound
	}
	value, ok := vm.current.property(vm.joined(path))
	if !ok && bytes.IndexByte(path, 0) < 0 {
		value, ok = vm.current.state[string(path)]
	}
	if !ok {
		return statusNotFound
	}
	return vm.give(value, a.u32(2), a.u32(3))
}

// setProperty takes (path, size, value, size).
func setProperty(vm *VM, a args) status {
	path, ok1 := vm.view(a.u32(0), a.u32(1))
	value, ok2 := vm.view(a.u32(2), a.u32(3))
	if !ok1 || !ok2 {
		return statusInvalidMemory
	}
	if vm.current == nil {
		return statusNotFound
	}
	if vm.current.state == nil {
		vm.current.state = map[string]string{}
	}
	vm.current.state[string(vm.joined(path))] = string(value)
	return statusOK
}

// LocalReply is an answer that the guest gives in place of the upstream. In Envoy it then passes the response callbacks
// like any other response.
type LocalReply struct {
	Status     uint32 // HTTP status
	Details    string // becomes the property response.code_details
	Headers    [][2]string
	Body       string
	GRPCStatus int32 // -1 is none
}

// sendLocalReply takes (status, details, size, body, size, headers, size, gRPC status). Without a stream it has no
// effect.
func sendLocalReply(vm *VM, a args) status {
	details, ok1 := vm.view(a.u32(1), a.u32(2))
	body, ok2 := vm.view(a.u32(3), a.u32(4))
	block, ok3 := vm.view(a.u32(5), a.u32(6))
	if !ok1 || !ok2 || !ok3 {
		return statusInvalidMemory
	}
	if vm.current != nil {
		vm.current.local = &LocalReply{
			Status:     a.u32(0),
			Details:    strings.Join(strings.Fields(string(details)), "_"),
			Headers:    parsePairs(block),
			Body:       string(body),
			GRPCStatus: int32(a.u32(7)),
		}
	}
	return statusOK
}
