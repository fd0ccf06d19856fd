//go:build tinygo.wasm

package host

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

// These are the callbacks that the plugin has a use for. Envoy calls only what is exported, and every call into the module
// costs: so there is no proxy_on_log, which the end of a stream does not need, and no proxy_on_done.

// abiVersion says by its name which version of proxy-wasm this is.
//
//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

// The contexts that the host made known, by their numbers.
var (
	plugins = map[uint32]*plugin{}
	streams = map[uint32]*stream{}
)

// contextCreate begins a plugin, which has no parent, or a stream of one.
//
//go:wasmexport proxy_on_context_create
func contextCreate(id, parent uint32) {
	if parent == 0 {
		plugins[id] = &plugin{}
	} else if p := plugins[parent]; p != nil {
		streams[id] = p.stream()
	}
}

//go:wasmexport proxy_on_configure
func configure(id, size uint32) uint32 {
	scratch.open = false // the engine keeps pieces of the configuration
	if p := plugins[id]; p != nil && p.start(configuration(size)) == types.OnPluginStartStatusOK {
		return 1
	}
	return 0
}

//go:wasmexport proxy_on_request_headers
func onRequestHeaders(id, _, _ uint32) types.Action {
	begin()
	if s := streams[id]; s != nil {
		s.onRequest()
	}
	return types.ActionContinue
}

//go:wasmexport proxy_on_response_headers
func onResponseHeaders(id, _, endOfStream uint32) types.Action {
	begin()
	if s := streams[id]; s != nil {
		s.onResponse(endOfStream != 0)
	}
	return types.ActionContinue
}

// contextDelete ends a stream or a plugin.
//
//go:wasmexport proxy_on_delete
func contextDelete(id uint32) {
	if s := streams[id]; s != nil {
		delete(streams, id)
		s.plugin.recycle(s)
	} else if p := plugins[id]; p != nil {
		delete(plugins, id)
		p.metrics.forgetMemory()
	}
}
