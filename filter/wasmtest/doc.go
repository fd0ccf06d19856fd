// Package wasmtest is a small proxy-wasm host: it runs the shipped limpet.wasm inside a Go program, without Envoy.
//
// Tests, benchmarks and fuzzing use it to drive the very bytes that ship. A [Module] is the compiled file, a [VM] is one
// plugin with one configuration, a [Stream] is one HTTP request and its response.
//
// The host speaks proxy-wasm ABI 0.2 and answers as Envoy 1.40 does, down to the statuses; the rules come from Envoy's
// source/extensions/common/wasm/context.cc and proxy-wasm-cpp-host's src/exports.cc, and were compared with a running
// Envoy. It has what limpet needs and nothing else: headers, properties, metrics, logs, local replies and the
// configuration. A module that imports more does not start. It differs from Envoy in these points:
//
//   - Buffers are asked for through proxy_on_memory_allocate alone. Envoy prefers an export named malloc, which the
//     shipped module must not have.
//   - Several lines of one header stay several lines. Envoy joins those of some headers it knows (not of cookie).
//   - Properties are those the caller gives; none are derived from headers or from the connection.
//   - A guest that holds a stream without an answer, or answers a response with a reply of its own, is an error.
//   - A trap ends the VM. Envoy would start another one.
package wasmtest
