package envoy

import (
	"net/netip"
	"strconv"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// trialAddress is where no connection comes from: a listener that does not bind needs an address all the same, and no
// two the same.
var (
	trialAddress      = netip.MustParseAddrPort("127.0.0.1:1")
	shardTrialAddress = netip.MustParseAddrPort("127.0.0.1:2")
)

const trialPrefix = "limpet-trial/"

// newTrial is a listener that takes no connections and has limpet's filter. An Envoy whose listeners are to get a
// filter that it has not had gets this first, for it puts listeners into service whose filter it does not take, and
// answers 500 there.
func (e *emitter) newTrial() *listenerv3.Listener {
	name := trialPrefix + FilterName(e.settings.Native)
	return e.newTrialListener(name, trialAddress, &hcmv3.HttpConnectionManager{
		StatPrefix:     "limpet_trial",
		HttpFilters:    []*hcmv3.HttpFilter{e.newDiscoveredLimpet(), e.newRouter()},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: name}},
	})
}

func (e *emitter) newTrialListener(
	name string,
	at netip.AddrPort,
	manager *hcmv3.HttpConnectionManager,
) *listenerv3.Listener {
	return &listenerv3.Listener{
		Name:         name,
		Address:      newAddress(at),
		BindToPort:   wrapperspb.Bool(false),
		FilterChains: e.newFilterChains(manager),
	}
}

// FilterForms writes the resource of limpet's filter in forms that mean the same.
type FilterForms struct{ of Settings }

// Number gives the one with a number after the configuration, written in white space. Envoy takes what it has refused
// for taken when it comes once more: it looks at nothing that it has seen last.
func (f FilterForms) Number(number int) ([]byte, error) {
	e := &emitter{settings: f.of}
	text := string(f.of.PluginJSON) + binaryInSpace.Replace(strconv.FormatInt(int64(number), 2))
	content := e.marshalBinary(e.packExtension(FilterName(f.of.Native), e.newConfigured(f.of.PluginJSON, text)))
	return content, e.err
}

var binaryInSpace = strings.NewReplacer("0", " ", "1", "\t")
