package envoy

import (
	"crypto/sha256"
	"encoding/hex"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	httpwasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	headerstatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The names of the filters, by which routes enable them.
const (
	fenceFilter   = "envoy.filters.http.header_mutation"
	wasmFilter    = "limpet"
	sessionFilter = "envoy.filters.http.stateful_session"
	corsFilter    = "envoy.filters.http.cors"
)

// newHTTPFilters is the chain. Those that make sessions are off unless a route turns them on, so that a route without a
// policy pays for next to nothing. Without any policy they are not there, unless one may come while the listener
// serves. The same holds for the one that answers for CORS, and those that ask authorization services. They come before
// those: what they answer themselves has no session. CORS goes first, for browsers send no credentials with what it
// answers.
func (e *emitter) newHTTPFilters() []*hcmv3.HttpFilter {
	var chain []*hcmv3.HttpFilter
	sessions, pinned := e.served || len(e.settings.Plugin.Policies) > 0, !e.settings.Native
	if sessions && pinned {
		chain = append(chain, e.newFence())
	}
	if e.served || e.cors {
		chain = append(chain, e.newCORS())
	}
	if e.served || e.auth {
		chain = append(chain, e.newAuthFilters()...)
	}
	switch {
	case e.served:
		chain = append(chain, e.newDiscoveredLimpet())
	case sessions:
		chain = append(chain, e.newLimpet())
	}
	if sessions && pinned {
		chain = append(chain, e.newStatefulSession())
	}
	if pinned && (e.served || e.within) {
		chain = append(chain, e.newWithinFilter())
	}
	return append(chain, e.newRouter())
}

// newCORS answers for CORS as routes say.
func (e *emitter) newCORS() *hcmv3.HttpFilter {
	f := e.newFilter(corsFilter, &corsv3.Cors{})
	f.Disabled = true
	return f
}

func (e *emitter) newFilter(name string, m proto.Message) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: e.pack(m)}}
}

// newFence takes the pin header out of what clients send and get where stateful_session is on, and the header of the
// backend out of what they send. It comes first, so that on the way back it is last: no client can steer a session or
// learn a host's address by that header, not even on a worker for which Envoy could not make a VM, where it leaves
// limpet out without a word. Other routes need no more than their route configuration removes.
func (e *emitter) newFence() *hcmv3.HttpFilter {
	pin := newRemoval(e.settings.Plugin.PinHeader)
	both := append(newRemoval(policyconfig.BackendHeader(e.settings.Plugin.PinHeader)), pin...)
	f := e.newFilter(fenceFilter, &headermutationv3.HeaderMutation{
		Mutations: &headermutationv3.Mutations{
			RequestMutations: both, RequestTrailersMutations: pin,
			ResponseMutations: pin, ResponseTrailersMutations: pin,
		},
	})
	f.Disabled = true
	return f
}

// newRemoval takes a header out.
func newRemoval(header string) []*mutationv3.HeaderMutation {
	return []*mutationv3.HeaderMutation{{Action: &mutationv3.HeaderMutation_Remove{Remove: header}}}
}

// newLimpet verifies tokens and makes them.
func (e *emitter) newLimpet() *hcmv3.HttpFilter {
	f := e.newFilter(FilterName(e.settings.Native), e.newConfigured(e.settings.PluginJSON, placeholder))
	f.Disabled = true
	return f
}

// newConfigured is the filter with a configuration, as text that may be a placeholder's.
func (e *emitter) newConfigured(config []byte, text string) proto.Message {
	if e.settings.Native {
		return filtermodule.NewNative(e.settings.ModulePath, e.pack(wrapperspb.String(text)))
	}
	return e.newWasm(config, text)
}

// newDiscoveredLimpet is the filter with its configuration apart. It keeps a listener from serving until that is there.
func (e *emitter) newDiscoveredLimpet() *hcmv3.HttpFilter {
	name, typeURL := FilterName(e.settings.Native), wasmType
	if e.settings.Native {
		typeURL = nativeType
	}
	return &hcmv3.HttpFilter{
		Name:     name,
		Disabled: true,
		ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
			ConfigSource: newServerSource(),
			TypeUrls:     []string{typeURL},
		}},
	}
}

const wasmType = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"

// newWasm is newConfigured for limpet.wasm. FAIL_RELOAD brings a VM that trapped back by itself.
func (e *emitter) newWasm(config []byte, text string) *httpwasmv3.Wasm {
	vm := &wasmv3.VmConfig{
		VmId:          wasmFilter,
		Configuration: e.newVMConfiguration(config),
		Runtime:       "envoy.wasm.runtime.v8",
		Code:          e.settings.newCode(),
	}
	if env := e.settings.Plugin.Keys.EnvironmentVariable(); env != "" {
		vm.EnvironmentVariables = &wasmv3.EnvironmentVariables{HostEnvKeys: []string{env}}
	}
	return &httpwasmv3.Wasm{Config: &wasmv3.PluginConfig{
		Name:          wasmFilter,
		RootId:        wasmFilter,
		Vm:            &wasmv3.PluginConfig_VmConfig{VmConfig: vm},
		Configuration: e.pack(wrapperspb.String(text)),
		FailurePolicy: wasmv3.FailurePolicy_FAIL_RELOAD,
	}}
}

// newVMConfiguration makes one VM of all that have the same. A configuration that changes has a VM of its own, which
// goes with it: TinyGo's collector takes words of the module's constants for addresses, so that of the large objects
// that a configuration leaves in a VM it frees hardly any. All have one id, for what VMs share goes by that: the names
// of counters, which go on so.
func (e *emitter) newVMConfiguration(config []byte) *anypb.Any {
	if !e.served {
		return nil
	}
	sum := sha256.Sum256(config)
	return e.pack(wrapperspb.String(hex.EncodeToString(sum[:8])))
}

// newStatefulSession is Envoy's own filter that sends a request to the host in the pin header, and puts the host that
// was chosen into the response.
func (e *emitter) newStatefulSession() *hcmv3.HttpFilter {
	f := e.newFilter(sessionFilter, &statefulsessionv3.StatefulSession{
		SessionState: e.newPinState(),
	})
	f.Disabled = true
	return f
}

// newPinState says that the pin is in its header.
func (e *emitter) newPinState() *corev3.TypedExtensionConfig {
	return e.packExtension(
		"envoy.http.stateful_session.header",
		&headerstatev3.HeaderBasedSessionState{Name: e.settings.Plugin.PinHeader},
	)
}

func (e *emitter) newRouter() *hcmv3.HttpFilter {
	return e.newFilter("envoy.filters.http.router", &routerv3.Router{})
}
