// Package wasmtest is a small proxy-wasm host: it runs the shipped limpet.wasm inside a Go program, without Envoy.
//
// It is for tests of a plugin configuration: does it load, which routes have sessions, when do they end? A [Proxy]
// plays all that Envoy has around the plugin, with a clock that the test moves: see the example of [Module.NewProxy].
// What is beneath it may be used by itself, by other hosts' tests for instance: a [Module] is the compiled file, a [VM]
// is one plugin with one configuration, a [Stream] is one HTTP request and its response. limpet's own tests, benchmarks
// and fuzzers drive the very bytes that ship with these.
//
// # What the plugin reads and writes
//
// A host of one's own must have these; a plugin that misses one mistakes what it sees. Properties, by their paths:
//
//   - xds.route_name is the name of the request's route, which policies are for. Without it the request passes.
//   - xds.cluster_name is read where a route's policies are each for some of its clusters, and where a session has
//     moved.
//   - xds.route_metadata.filter_metadata.limpet.policies are the policies of a route whose name ends in an identity
//     ("#" and 16 characters).
//   - response.code_details says whether a host answered ("via_upstream") or the proxy itself, for which reason. It is
//     read before any token is taken away, and where a response came without a pin.
//   - upstream.request_attempt_count, a number of 8 bytes with the little end first, tells a host that refused from one
//     that is gone.
//   - xds.upstream_host_metadata.filter_metadata.limpet.limpet.backend is the tag of the host's backend, with
//     RebalanceWithin.
//
// Headers of the request: the session's own (cookie, or a header by the policy's name), :method and :authority,
// x-forwarded-proto, access-control-request-method and origin, and limpet-ticket with debugTickets. The plugin sets
// pinHeader, or removes it: the base64 of "ip:port", of the host that shall serve. With RebalanceWithin it sets the
// header with "-backend" at the end, too.
//
// Headers of the response: :status, the policy's own (set-cookie or its header, endSessionHeader), cache-control and
// others that the policy's settings are about. And pinHeader: the host that answered, if it is another one than the
// request's pinHeader named. A host that names the pinned host too has the plugin report "moved" for a good session,
// for this is how Envoy's stateful_session says so: where the pinned host answers, it says nothing. The plugin removes
// the header.
//
// The plugin sets properties too, which Envoy's access log has as filter state (docs/operations.md), counts in metrics
// that it defines, and shares the names of its counters with VMs of the same vm_id ([Shared]).
//
// # How it differs from Envoy
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
