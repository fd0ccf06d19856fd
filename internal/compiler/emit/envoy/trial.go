package envoy

import (
	"net/netip"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	httpdynamicmodulesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/dynamic_modules/v3"
	httpwasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// trialAddress is where no connection comes from: a listener that does not bind needs an address all the same.
var trialAddress = netip.MustParseAddrPort("127.0.0.1:1")

const trialPrefix = "limpet-trial/"

// newTrial is a listener that takes no connections and has limpet's filter. An Envoy whose listeners are to get a filter that it has
// not had gets this first, for it puts listeners into service whose filter it does not take, and answers 500 there.
func (e *emitter) newTrial() *listenerv3.Listener {
	name := trialPrefix + FilterName(e.settings.Native)
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:     "limpet_trial",
		HttpFilters:    []*hcmv3.HttpFilter{e.newDiscoveredLimpet(), e.newRouter()},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: name}},
	}
	return &listenerv3.Listener{
		Name:         name,
		Address:      newAddress(trialAddress),
		BindToPort:   wrapperspb.Bool(false),
		FilterChains: e.newFilterChains(manager),
	}
}

// VaryFilter gives the resource of limpet's filter with a number after its configuration, written in white space. Envoy takes what it has
// refused for taken when it comes once more: it looks at nothing that it has seen last.
func VaryFilter(content []byte, number int) ([]byte, error) {
	extension := &corev3.TypedExtensionConfig{}
	if err := proto.Unmarshal(content, extension); err != nil {
		return nil, err
	}
	filter, err := extension.GetTypedConfig().UnmarshalNew()
	if err != nil {
		return nil, err
	}
	var config *anypb.Any
	switch filter := filter.(type) {
	case *httpwasmv3.Wasm:
		config = filter.GetConfig().GetConfiguration()
	case *httpdynamicmodulesv3.DynamicModuleFilter:
		config = filter.GetFilterConfig()
	}
	text := &wrapperspb.StringValue{}
	if err := config.UnmarshalTo(text); err != nil {
		return nil, err
	}
	text.Value += binaryInSpace.Replace(strconv.FormatInt(int64(number), 2))
	if err := config.MarshalFrom(text); err != nil {
		return nil, err
	}
	if err := extension.GetTypedConfig().MarshalFrom(filter); err != nil {
		return nil, err
	}
	return proto.Marshal(extension)
}

var binaryInSpace = strings.NewReplacer("0", " ", "1", "\t")
