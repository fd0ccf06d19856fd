package envoy

import (
	"net/netip"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ReadyName is the name of the listener that says that an Envoy is ready. Its server sends it when the Envoy has
// acknowledged all of its first configuration.
const ReadyName = "limpet-ready"

// readyField is where an Envoy's metadata says at which address it wants that listener.
const readyField = "limpet.dev/ready"

// The pages of the ready listener, and of the admin interface by which an Envoy is told to leave.
const (
	ReadyPage = "/ready"
	DrainPage = "/healthcheck/fail"
)

// addReadiness has the Envoy ask for the ready listener.
func (b ServerBootstrap) addReadiness(out *bootstrapv3.Bootstrap) {
	if !b.Ready.IsValid() {
		return
	}
	out.Node.Metadata = &structpb.Struct{
		Fields: map[string]*structpb.Value{readyField: structpb.NewStringValue(b.Ready.String())},
	}
	for _, source := range []*corev3.ConfigSource{out.DynamicResources.CdsConfig, out.DynamicResources.LdsConfig} {
		source.InitialFetchTimeout = durationpb.New(0)
	}
	if out.Admin != nil && len(out.Admin.AllowPaths) > 0 {
		out.Admin.AllowPaths = append(out.Admin.AllowPaths,
			&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: DrainPage}})
	}
}

// IsManaged says whether limpet runs a node: no other asks for the ready listener. Such an Envoy opens the keys of its
// Gateway's scopes, and no ring.
func IsManaged(node *corev3.Node) bool {
	return node.GetMetadata().GetFields()[readyField] != nil
}

// NewReadyListener gives the listener that an Envoy asks for by its metadata; nil for none. It answers 200, and 503
// once the Envoy leaves.
func NewReadyListener(node *corev3.Node) (*Packed, error) {
	text := node.GetMetadata().GetFields()[readyField].GetStringValue()
	if text == "" {
		return nil, nil
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return nil, err
	}
	e := &emitter{}
	health := &healthv3.HealthCheck{
		PassThroughMode: wrapperspb.Bool(false),
		Headers: []*routev3.HeaderMatcher{{
			Name: ":path",
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
				MatchPattern: &matcherv3.StringMatcher_Exact{Exact: ReadyPage},
			}},
		}},
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: ReadyName,
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "envoy.filters.http.health_check", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: e.pack(health)},
		}, e.newRouter()},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: ReadyName}},
	}
	p := e.packResource(ReadyName, &listenerv3.Listener{
		Name: ReadyName, Address: newAddress(at), FilterChains: e.newFilterChains(manager),
		IgnoreGlobalConnLimit: true,
	})
	return p, e.err
}
