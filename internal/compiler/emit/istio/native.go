package istio

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
)

// metricsNamespace begins the names of the filter's counters. Istio's proxies publish those of plugins.
const metricsNamespace = "wasmcustom"

// isNative tells whether proxies load liblimpet.so.
func (o *Options) isNative() bool { return o.NativePath != "" }

// newNativeFilter puts the native filter into a set of proxies. It names the host of a session itself, so that there is
// no pin header to fence, only that of splits, and no filter behind it, and Istio's chain has it where it has limpet's
// session filter else.
func (e *emitter) newNativeFilter(p *proxySet, text []byte) document {
	patches := []any{
		e.newEarlyFence(),
		newPatch(
			"HTTP_FILTER",
			matchManager("envoy.filters.http.router"),
			"INSERT_BEFORE",
			e.convertMessage(e.newModule(text)),
		),
	}
	for _, r := range p.routes {
		if r.failStatus != 0 || isSplit(r.rule) {
			patches = append(patches, r.patchRoutes(e.newNativeRoute(r))...)
		}
	}
	return e.newPatches(p, append(patches, e.patchClusters(p)...))
}

// newModule is the filter. It is on for all routes, as a plugin is, and lets those without sessions pass: what a route
// says to turn a filter on is no JSON that Istio reads. Proxies refuse a listener whose file is missing.
func (e *emitter) newModule(text []byte) *hcmv3.HttpFilter {
	module := filtermodule.NewNative(e.NativePath, e.pack(wrapperspb.String(string(text))))
	module.DynamicModuleConfig.MetricsNamespace = metricsNamespace
	return &hcmv3.HttpFilter{Name: "limpet.native", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: e.pack(module)}}
}

// newNativeRoute keeps internal headers from the backend, and sessions that shall not move from being tried elsewhere,
// for Envoy drops the host that the filter has named on a retry.
func (e *emitter) newNativeRoute(r *enabledRule) any {
	route := &routev3.Route{RequestHeadersToRemove: r.listHidden()}
	if r.failStatus != 0 {
		endRetries(route)
	}
	return e.convertMessage(route)
}
