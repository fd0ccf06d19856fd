package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tracev3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// tracesCluster is the name of the cluster that takes traces (ServerBootstrap.Traces).
const tracesCluster = "limpet-traces"

// Story is what proxies of a Gateway tell of its requests, where that is another thing than for all Gateways.
type Story struct {
	// AccessLog turns the log on or off; nil leaves it as it is.
	AccessLog *bool
	// Tracing sends spans to the collector of the bootstrap, for so many of a hundred requests.
	Tracing         bool
	SamplingPercent int32
}

// WithStory gives the configuration with another story. It shares all with this one but the listeners.
func (d *Served) WithStory(s Story) (*Served, error) {
	told := *d
	told.Listeners = make([]Packed, len(d.Listeners))
	e := &emitter{}
	for i, packed := range d.Listeners {
		l := &listenerv3.Listener{}
		if err := proto.Unmarshal(packed.Content, l); err != nil {
			return nil, err
		}
		chains := l.GetFilterChains()
		if last := l.GetDefaultFilterChain(); last != nil {
			chains = append(chains[:len(chains):len(chains)], last)
		}
		for _, c := range chains {
			for _, f := range c.GetFilters() {
				if err := e.tell(f, s, d.Gateway); err != nil {
					return nil, err
				}
			}
		}
		told.Listeners[i] = e.packResource(packed.Name, l)
		told.Listeners[i].Clusters = packed.Clusters
	}
	return &told, e.err
}

// tell puts a story into a filter that manages HTTP.
func (e *emitter) tell(f *listenerv3.Filter, s Story, gateway string) error {
	manager := &hcmv3.HttpConnectionManager{}
	if !f.GetTypedConfig().MessageIs(manager) {
		return nil
	}
	if err := f.GetTypedConfig().UnmarshalTo(manager); err != nil {
		return err
	}
	switch {
	case s.AccessLog == nil:
	case !*s.AccessLog:
		manager.AccessLog = nil
	case len(manager.AccessLog) == 0:
		manager.AccessLog = e.newRequestLog()
	}
	if s.Tracing {
		manager.Tracing = e.newTracing(gateway, s.SamplingPercent)
	}
	f.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: e.pack(manager)}
	return nil
}

func (e *emitter) newTracing(gateway string, percent int32) *hcmv3.HttpConnectionManager_Tracing {
	collector := &corev3.GrpcService{
		TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: tracesCluster}},
		Timeout:         durationpb.New(1e9),
	}
	return &hcmv3.HttpConnectionManager_Tracing{
		RandomSampling: &typev3.Percent{Value: float64(percent)},
		Provider: &tracev3.Tracing_Http{
			Name: "envoy.tracers.opentelemetry",
			ConfigType: &tracev3.Tracing_Http_TypedConfig{
				TypedConfig: e.pack(&tracev3.OpenTelemetryConfig{GrpcService: collector, ServiceName: gateway}),
			},
		},
	}
}
