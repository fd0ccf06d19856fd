// Command tinygo is a proxy-wasm filter that does nothing, as the Go SDK's template makes it: the least that a filter
// in TinyGo costs when its price is not looked at. make bench compares limpet with it.
package main

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

func init() { proxywasm.SetVMContext(&vm{}) }

func main() {}

type vm struct{ types.DefaultVMContext }

func (*vm) NewPluginContext(uint32) types.PluginContext { return &plugin{} }

type plugin struct{ types.DefaultPluginContext }

func (*plugin) NewHttpContext(uint32) types.HttpContext { return &stream{} }

type stream struct{ types.DefaultHttpContext }

func (*stream) OnHttpRequestHeaders(int, bool) types.Action { return types.ActionContinue }

func (*stream) OnHttpResponseHeaders(int, bool) types.Action { return types.ActionContinue }
