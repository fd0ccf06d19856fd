package envoy

import (
	"reflect"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tracev3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// tracesCluster is the name of the cluster that takes traces (ServerBootstrap.Traces).
const tracesCluster = "limpet-traces"

// Telemetry is what proxies of a Gateway tell of its requests, where that is another thing than for all Gateways. The
// zero value is what all tell.
type Telemetry struct {
	// AccessLog turns the log on or off; nil leaves it as it is.
	AccessLog *bool
	// Tracing sends spans to the collector of the bootstrap, for so many of a hundred requests.
	Tracing         bool
	SamplingPercent int32
}

// Equal tells whether both are the same.
func (s Telemetry) Equal(other Telemetry) bool { return reflect.DeepEqual(s, other) }

// newAccessLogs writes a line of JSON for each request on standard output, where that is asked for.
func (e *emitter) newAccessLogs() []*accesslogv3.AccessLog {
	switch wanted := e.telemetry.AccessLog; {
	case wanted != nil && !*wanted:
		return nil
	case e.settings.Plugin.AccessLogFields:
		return e.newSessionLog()
	case wanted != nil:
		return e.newLog(map[string]any{})
	}
	return nil
}

// newTracing sends spans where telemetry says so; nil for none. The service is the Gateway.
func (e *emitter) newTracing() *hcmv3.HttpConnectionManager_Tracing {
	if !e.telemetry.Tracing {
		return nil
	}
	collector := &corev3.GrpcService{
		TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: tracesCluster}},
		Timeout:         durationpb.New(1e9),
	}
	return &hcmv3.HttpConnectionManager_Tracing{
		RandomSampling: &typev3.Percent{Value: float64(e.telemetry.SamplingPercent)},
		Provider: &tracev3.Tracing_Http{
			Name: "envoy.tracers.opentelemetry",
			ConfigType: &tracev3.Tracing_Http_TypedConfig{
				TypedConfig: e.pack(&tracev3.OpenTelemetryConfig{GrpcService: collector, ServiceName: e.gateway}),
			},
		},
	}
}
