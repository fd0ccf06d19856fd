// Command filter is limpet.wasm: session persistence with signed tokens, as a proxy-wasm plugin. TinyGo builds
// it as a reactor, whose host calls _initialize and never main; package host has the callbacks.
package main

import _ "github.com/limpet-proxy/limpet/filter/internal/host"

func main() {}
