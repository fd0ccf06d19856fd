package wasmtest

import policyconfig "github.com/limpet-proxy/limpet/policy-config"

// Filter is what a Proxy stands around.
type Filter interface {
	// Open begins a request whose properties the filter can read.
	Open(properties map[string]string) Exchange
	// Counters are those that the filter has defined, by name.
	Counters() map[string]uint64
}

// Exchange is a request and its response in a Filter, as a Stream is.
type Exchange interface {
	RequestHeaders(h [][2]string, endOfStream bool) (out [][2]string, local *LocalReply, err error)
	SetProperty(path, value string)
	ResponseHeaders(h [][2]string, endOfStream bool) (out [][2]string, err error)
	FilterState() map[string]string
	Close()
}

// Open begins a request, as NewStream does, for a Proxy.
func (vm *VM) Open(properties map[string]string) Exchange { return vm.NewStream(properties) }

// Properties of a request and its response that the plugin reads.
const (
	RouteProperty    = "xds.route_name"
	ClusterProperty  = "xds.cluster_name"
	PoliciesProperty = "xds.route_metadata.filter_metadata." + policyconfig.RouteMetadata + "." + policyconfig.RouteField
	DetailsProperty  = "response.code_details"
	// AttemptsProperty is a number: 8 bytes, little end first.
	AttemptsProperty = "upstream.request_attempt_count"
	BackendProperty  = "xds.upstream_host_metadata.filter_metadata." + policyconfig.BackendMetadata + "." +
		policyconfig.BackendMetadataKey
)
