package istio

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	dynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/dynamic_modules/v3"
	httpdynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/dynamic_modules/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// nativeFilter is the name of the native filter, by which routes enable it.
	nativeFilter = "limpet.native"
	// metricsNamespace begins the names of the filter's counters. Istio's proxies publish those of plugins.
	metricsNamespace = "wasmcustom"
)

// isNative tells whether proxies load liblimpet.so.
func (o *Options) isNative() bool { return o.NativePath != "" }

// newNativeFilter puts the native filter into a set of proxies. It names the host of a session itself, so that there is no pin
// header to fence and no filter behind it, and Istio's chain has it where it has limpet's session filter else.
func (e *emitter) newNativeFilter(p *proxySet, text []byte) document {
	patches := []any{newPatch("HTTP_FILTER", matchManager("envoy.filters.http.router"), "INSERT_BEFORE", e.convertMessage(e.newModule(text)))}
	patches = append(patches, p.patchRoutes(e.newNativeRoute)...)
	return e.newPatches(p, append(patches, e.patchClusters(p)...))
}

// newModule is the filter, off but on the routes that turn it on. Proxies refuse a listener whose file is missing.
func (e *emitter) newModule(text []byte) *hcmv3.HttpFilter {
	module := &httpdynamicmodulesv3.DynamicModuleFilter{
		DynamicModuleConfig: &dynamicmodulesv3.DynamicModuleConfig{
			Name: "limpet", MetricsNamespace: metricsNamespace,
			Module: &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Local{Local: &corev3.DataSource{
				Specifier: &corev3.DataSource_Filename{Filename: e.NativePath},
			}}},
		},
		FilterName:   "session",
		FilterConfig: e.pack(wrapperspb.String(string(text))),
	}
	return &hcmv3.HttpFilter{
		Name: nativeFilter, Disabled: true, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: e.pack(module)},
	}
}

// newNativeRoute turns the filter on. A session that shall not move must not be tried elsewhere, for Envoy drops the host that the
// filter has named on a retry.
func (e *emitter) newNativeRoute(r *enabledRule) any {
	on := e.pack(&routev3.FilterConfig{Config: &anypb.Any{}})
	route := &routev3.Route{TypedPerFilterConfig: map[string]*anypb.Any{nativeFilter: on}}
	if r.failStatus != 0 {
		endRetries(route)
	}
	return e.convertMessage(route)
}
