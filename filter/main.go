// Command filter is limpet.wasm: session persistence with signed tokens, as a proxy-wasm plugin. TinyGo builds
// it as a reactor, whose host calls _initialize and never main, so the plugin is registered in init.
package main

import "github.com/limpet-proxy/limpet/filter/host"

func init() { host.Register() }

func main() {}
