// Command native is limpet as a dynamic module of Envoy: the engine of package session in Envoy's own process. TinyGo
// compiles it to an object without a runtime of its own (no threads, no signal handlers, no collector), and the C in
// folder c joins it to Envoy's ABI. Where limpet.wasm speaks through the pin header to Envoy's stateful_session filter,
// this names the host itself and reads back the one that answered.
//
// Envoy makes a configuration on its main thread; its workers share what was read and have an engine each. Memory comes
// from the arenas in c/memory.c: what a request allocates is gone when its next hook begins.
//
// The Go files have the build tag limpet.native, which only the target files in tools set.
package main

func main() {}
