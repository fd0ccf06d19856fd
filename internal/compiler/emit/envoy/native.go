package envoy

// The native filter is the same engine as a dynamic module of Envoy's. It names the host of a session itself, so there
// is no pin header, nothing that fences it off, and no filter behind limpet that reads it.
//
// A running Envoy changes from one filter to the other with its listeners. With the native filter the filter's resource
// and the route tables have other names, so that the listener before keeps all that it needs until it ends.
const (
	nativeFilter = "limpet-native"
	nativeSuffix = "/+native" // no domain has a plus in it
	nativeType   = "type.googleapis.com/envoy.extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter"
)

// FilterName is the name of limpet's filter in chains and on routes, and of its resource.
func FilterName(native bool) string {
	if native {
		return nativeFilter
	}
	return wasmFilter
}

// tableName is the name of a site's route configuration.
func (s *Settings) tableName(siteName string) string {
	if s.Native {
		return siteName + nativeSuffix
	}
	return siteName
}
