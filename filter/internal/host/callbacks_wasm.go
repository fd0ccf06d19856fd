//go:build tinygo.wasm

package host

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

// These are the callbacks that the plugin has a use for. Envoy calls only what is exported, and every call into the
// module costs: so there is no proxy_on_log, which the end of a stream does not need, and no proxy_on_done.

// abiVersion says by its name which version of proxy-wasm this is.
//
//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

// The contexts that the host made known. A callback for one that it did not traps, for it would leave a client's pin
// header where it is.
var (
	plugins table[plugin]
	streams table[stream]
)

// contextCreate begins a plugin, which has no parent, or a stream of one.
//
//go:wasmexport proxy_on_context_create
func contextCreate(id, parent uint32) {
	if parent == 0 {
		plugins.put(id, &plugin{})
	} else {
		streams.put(id, plugins.get(parent).stream())
	}
}

//go:wasmexport proxy_on_configure
func configure(id, size uint32) uint32 {
	scratch.open = false // the engine keeps pieces of the configuration
	if plugins.get(id).start(readConfiguration(size)) == types.OnPluginStartStatusOK {
		return 1
	}
	return 0
}

//go:wasmexport proxy_on_request_headers
func onRequestHeaders(id, _, _ uint32) types.Action {
	begin()
	return streams.get(id).onRequest()
}

//go:wasmexport proxy_on_response_headers
func onResponseHeaders(id, _, endOfStream uint32) types.Action {
	begin()
	streams.get(id).onResponse(endOfStream != 0)
	return types.ActionContinue
}

// contextDelete ends a stream or a plugin.
//
//go:wasmexport proxy_on_delete
func contextDelete(id uint32) {
	if s := streams.take(id); s != nil {
		s.plugin.recycle(s)
	} else if p := plugins.take(id); p != nil {
		p.metrics.forgetMemory()
	}
}
