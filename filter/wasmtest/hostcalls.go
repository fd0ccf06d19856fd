package wasmtest

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero/api"
)

// hostCall is a function of the module "env" that the guest imports. It answers a status.
type hostCall struct {
	name   string
	params []api.ValueType
	fn     func(vm *VM, a args) status
}

// args are the parameters of a host call as they lie on wazero's stack, which spares a million calls the reflection.
type args []uint64

// u32 returns a parameter of 32 bits; the other half of its place may hold anything.
func (a args) u32(i int) uint32 {
	return uint32(a[i])
}

var hostCalls = []hostCall{
	{"proxy_log", i32s(3), hostLog},
	{"proxy_get_header_map_value", i32s(5), getHeader},
	{"proxy_add_header_map_value", i32s(5), addHeader},
	{"proxy_replace_header_map_value", i32s(5), replaceHeader},
	{"proxy_remove_header_map_value", i32s(3), removeHeader},
	{"proxy_get_header_map_pairs", i32s(3), getHeaders},
	{"proxy_set_header_map_pairs", i32s(3), setHeaders},
	{"proxy_get_buffer_bytes", i32s(5), getBuffer},
	{"proxy_get_property", i32s(4), getProperty},
	{"proxy_set_property", i32s(4), setProperty},
	{"proxy_send_local_response", i32s(8), sendLocalReply},
	{"proxy_set_effective_context", i32s(1), setEffectiveContext},
	{"proxy_get_shared_data", i32s(5), getSharedData},
	{"proxy_set_shared_data", i32s(5), setSharedData},
	{"proxy_define_metric", i32s(4), defineMetric},
	{"proxy_increment_metric", append(i32s(1), api.ValueTypeI64), incrementMetric},
	{"proxy_record_metric", append(i32s(1), api.ValueTypeI64), recordMetric},
	{"proxy_get_metric", i32s(2), getMetric},
}

func i32s(n int) []api.ValueType {
	types := make([]api.ValueType, n)
	for i := range types {
		types[i] = api.ValueTypeI32
	}
	return types
}

var errTooEarly = errors.New("only logging is allowed in _initialize")

// bind finds the VM of the call. Envoy traps whoever does more than log in _initialize, so this does too.
func (c hostCall) bind() api.GoFunc {
	early := c.name == "proxy_log"
	return func(ctx context.Context, stack []uint64) {
		vm := ctx.(*callContext).vm
		if vm.phase == initializing && !early {
			panic(errTooEarly)
		}
		stack[0] = uint64(c.fn(vm, stack))
	}
}

// hostLog takes (level, text, size).
func hostLog(vm *VM, a args) status {
	level := Level(a.u32(0))
	if level >= levels {
		return statusBadArgument
	}
	text, ok := vm.view(a.u32(1), a.u32(2))
	if !ok {
		return statusInvalidMemory
	}
	vm.log(level, string(text))
	return statusOK
}

// The buffers that this host tells apart, numbered as in proxy-wasm ABI 0.2. Those up to bufferBodies are bodies.
const (
	bufferBodies       = 3
	bufferVMConfig     = 6
	bufferPluginConfig = 7
	bufferMax          = 8
)

// getBuffer takes (buffer, start, length, &place, &size). The plugin configuration is there while the plugin starts.
// The VM configuration and the bodies are always empty.
func getBuffer(vm *VM, a args) status {
	buffer := a.u32(0)
	switch {
	case buffer > bufferMax:
		return statusBadArgument
	case buffer <= bufferBodies || buffer == bufferVMConfig:
		return vm.give("", a.u32(3), a.u32(4))
	case buffer != bufferPluginConfig || vm.phase != configuring:
		return statusNotFound
	}
	rest := vm.config[min(int(a.u32(1)), len(vm.config)):]
	return vm.give(string(rest[:min(int(a.u32(2)), len(rest))]), a.u32(3), a.u32(4))
}

// setEffectiveContext takes (context). The calls that follow in this callback then work on that context.
func setEffectiveContext(vm *VM, a args) status {
	id := a.u32(0)
	if id == rootID {
		vm.current = nil
		return statusOK
	}
	for _, s := range vm.open {
		if s.id == id {
			vm.current = s
			return statusOK
		}
	}
	return statusBadArgument
}

// defineMetric takes (kind, name, size, &id).
func defineMetric(vm *VM, a args) status {
	name, ok := vm.view(a.u32(1), a.u32(2))
	if !ok {
		return statusInvalidMemory
	}
	k := kind(a.u32(0))
	if k >= kinds {
		return statusBadArgument
	}
	if !vm.mem.WriteUint32Le(a.u32(3), vm.metrics.define(k, string(name))) {
		return statusInvalidMemory
	}
	return statusOK
}

// incrementMetric takes (id, by).
func incrementMetric(vm *VM, a args) status {
	return vm.metrics.increment(a.u32(0), int64(a[1]))
}

// recordMetric takes (id, value).
func recordMetric(vm *VM, a args) status {
	return vm.metrics.record(a.u32(0), a[1])
}

// getMetric takes (id, &value).
func getMetric(vm *VM, a args) status {
	value, s := vm.metrics.get(a.u32(0))
	if s == statusOK && !vm.mem.WriteUint64Le(a.u32(1), value) {
		return statusInvalidMemory
	}
	return s
}
