package wasmtest

import (
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// callback is a function that the guest may export. Exports that have no use are taken out of the shipped module, so a
// host skips what is missing.
type callback struct {
	fn      api.Function
	name    string
	missing uint32 // counts as the answer of a callback that does not exist
}

// guest has the callbacks that this host knows.
type guest struct {
	allocate        api.Function
	initialize      callback
	contextCreate   callback
	vmStart         callback
	configure       callback
	requestHeaders  callback
	responseHeaders callback
	log             callback
	done            callback
	delete          callback
}

func bindGuest(m api.Module) guest {
	bind := func(name string, missing uint32) callback {
		return callback{m.ExportedFunction(name), name, missing}
	}
	return guest{
		allocate:        m.ExportedFunction("proxy_on_memory_allocate"),
		initialize:      bind("_initialize", 0),
		contextCreate:   bind("proxy_on_context_create", 0),
		vmStart:         bind("proxy_on_vm_start", 1),
		configure:       bind("proxy_on_configure", 1),
		requestHeaders:  bind("proxy_on_request_headers", 0),
		responseHeaders: bind("proxy_on_response_headers", 0),
		log:             bind("proxy_on_log", 0),
		done:            bind("proxy_on_done", 1),
		delete:          bind("proxy_on_delete", 0),
	}
}

// call runs a callback for the stream s, or for the root context when s is nil. A trap ends the VM: this call and every
// later one return it.
func (vm *VM) call(s *Stream, cb *callback, params ...uint64) (uint32, error) {
	if vm.err != nil {
		return 0, vm.err
	}
	if cb.fn == nil {
		return cb.missing, nil
	}
	vm.current = s
	copy(vm.stack[:], params)
	if err := cb.fn.CallWithStack(vm.ctx, vm.stack[:]); err != nil {
		vm.err = fmt.Errorf("%s: %w", cb.name, err)
		return 0, vm.err
	}
	return uint32(vm.stack[0]), nil
}
