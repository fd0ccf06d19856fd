package filtermodule

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	dynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/dynamic_modules/v3"
	httpdynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/dynamic_modules/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// NativeName is the name of the dynamic module, and NativeFilter that of the filter in it.
const (
	NativeName   = "limpet"
	NativeFilter = "session"
)

// NewNative is the native filter with a configuration, a text. The file's name should be that of its content, for the
// dynamic loader knows a file that it has loaded by its name. Envoy refuses a listener whose file is missing; one that
// it fetches itself it would go without.
func NewNative(file string, config *anypb.Any) *httpdynamicmodulesv3.DynamicModuleFilter {
	return &httpdynamicmodulesv3.DynamicModuleFilter{
		DynamicModuleConfig: &dynamicmodulesv3.DynamicModuleConfig{Name: NativeName, Module: LocalFile(file)},
		FilterName:          NativeFilter,
		FilterConfig:        config,
	}
}

// LocalFile is a file of the machine that Envoy runs on.
func LocalFile(path string) *corev3.AsyncDataSource {
	return &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Local{Local: &corev3.DataSource{
		Specifier: &corev3.DataSource_Filename{Filename: path},
	}}}
}

// FilterState is Envoy's word for what the filter has set. Envoy puts a word of its own before what a wasm filter sets.
func FilterState(name string, isNative bool) string {
	if !isNative {
		name = "wasm." + name
	}
	return "%FILTER_STATE(" + name + ":PLAIN)%"
}
