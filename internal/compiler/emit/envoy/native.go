package envoy

// The native filter is the same engine as a dynamic module of Envoy's. It names the host of a session itself, so there
// is no pin header, nothing that fences it off, and no filter behind limpet that reads it.
//
// An Envoy that runs goes from one filter to the other when its listeners do. What they refer to has other names with
// the native one, the filter and the tables of routes, so that the listener before has all that it needs to its end.
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
