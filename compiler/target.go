package compiler

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/capability"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoygateway"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/istio"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// Target is what a compilation writes.
type Target string

// The targets: a complete Envoy bootstrap besides the plugin configuration, or the latter alone.
const (
	TargetEnvoy  Target = "envoy"
	TargetPlugin Target = "plugin"
	// TargetEnvoyGateway is the resources with which Envoy Gateway gives the input's routes their sessions.
	TargetEnvoyGateway Target = "envoy-gateway"
	// TargetIstio is the resources that put limpet into Istio's proxies.
	TargetIstio Target = istio.Target
)

// The names of the files of a result.
const (
	PluginFile = "plugin.json"
	EnvoyFile  = "envoy.yaml"
	// EnvoyGatewayFile is a manifest to be applied.
	EnvoyGatewayFile = "envoy-gateway.yaml"
	IstioFile        = "istio.yaml"
)

// File is a file of a result.
type File struct {
	Name string
	Data []byte
}

// emitter writes the output for a target.
type emitter struct {
	target Target
	// emit fills in the result's plugin configuration and its files, in the order to be written in: a file comes after
	// all that it needs, and the document that people ask for comes last. It reports what the target can't carry.
	emit func(*analysis, *Options, *Result) error
	// hasOptions says whether there are options of the target's own, and parse completes and checks them; nil for none.
	hasOptions func(*Options) bool
	parse      func(*Options) error
	// controller is the controllerName of the GatewayClasses of a target with a control plane of its own, which makes
	// listeners, routes and clusters from the same objects; empty where limpet makes them.
	controller gatewayv1.GatewayController
	// platformKinds are the control plane's own kinds that may be in the input, and platformBackends those that routes may
	// lead to.
	platformKinds    []schema.GroupVersionKind
	platformBackends []schema.GroupKind
	// sharedPath gives the one path of a session's cookie for all matches of its rule, where on other targets each match
	// has its own; empty where these do not differ. Nil for targets without shared paths.
	sharedPath func(*ir.Rule, *ir.Session) string
	// capabilities says which features the target carries; nil for the plugin configuration alone, which every target has.
	capabilities capability.Declaration
}

var emitters = []emitter{
	{
		target: TargetEnvoy, emit: emitEnvoy, capabilities: envoy.Capabilities,
		hasOptions: func(o *Options) bool { return o.Envoy != nil }, parse: (*Options).parseEnvoy,
	},
	{
		target: TargetEnvoyGateway, emit: emitEnvoyGateway, capabilities: envoygateway.Capabilities,
		hasOptions: func(o *Options) bool { return o.EnvoyGateway != nil }, parse: (*Options).parseEnvoyGateway,
		controller: envoygateway.Controller, platformKinds: envoygateway.Kinds, platformBackends: envoygateway.Backends,
	},
	{
		target: TargetIstio, emit: emitIstio, capabilities: istio.Capabilities,
		hasOptions: func(o *Options) bool { return o.Istio != nil }, parse: (*Options).parseIstio,
		controller: istioController, platformKinds: istio.Kinds, sharedPath: istio.SharedPath,
	},
	{target: TargetPlugin, emit: emitPlugin},
}

// Targets are the names of all targets, the default one first.
func Targets() []string {
	names := make([]string, len(emitters))
	for i, e := range emitters {
		names[i] = string(e.target)
	}
	return names
}

// validate gives an error when there is no such target.
func (t Target) validate() error {
	if slices.Contains(Targets(), string(t)) {
		return nil
	}
	return fmt.Errorf("target: Unsupported value: %q: supported values: %s", t, `"`+strings.Join(Targets(), `", "`)+`"`)
}

// findEmitter returns the target's emitter; nil for an unknown target.
func (t Target) findEmitter() *emitter {
	for i := range emitters {
		if emitters[i].target == t {
			return &emitters[i]
		}
	}
	return nil
}

// emit fills in the result for the target, which validate has found to exist.
func (t Target) emit(j *analysis, o *Options, r *Result) error { return t.findEmitter().emit(j, o, r) }

// findController returns the controllerName whose GatewayClasses the target, which validate has found to exist, is for.
func (t Target) findController() gatewayv1.GatewayController { return t.findEmitter().controller }

// istioController is that of the GatewayClass that Istio makes (Istio, pkg/config/constants).
const istioController = "istio.io/gateway-controller"

func emitIstio(j *analysis, o *Options, r *Result) error {
	out, err := istio.Emit(j.Plan, o.global(), *o.Istio, j.rep)
	if err != nil {
		return err
	}
	j.adviseAddresses()
	r.Plugin, r.PluginJSON, r.Files = out.Plugin, out.JSON, []File{{IstioFile, out.YAML}}
	return nil
}

func emitPlugin(j *analysis, o *Options, r *Result) (err error) {
	r.Plugin, r.PluginJSON, err = plugin.Emit(j.Plan.Proxy.Policies, o.global())
	r.Files = []File{{PluginFile, r.PluginJSON}}
	return err
}

func emitEnvoy(j *analysis, o *Options, r *Result) error {
	r.PrivateKeys = j.Plan.Proxy.HasPrivateKeys()
	if o.served() != nil {
		return emitServed(j, o, r)
	}
	// The policies travel with their routes, so that a change of one is a change of a route table.
	config, global, err := plugin.EmitApart(j.Plan.Proxy.Policies, o.global())
	if err != nil {
		return err
	}
	if err := emitPlugin(j, o, r); err != nil {
		return err
	}
	bootstrap, err := envoy.Emit(j.Plan.Proxy, o.envoySettings(config, global))
	r.Files = append(r.Files, File{EnvoyFile, bootstrap})
	return err
}

func emitEnvoyGateway(j *analysis, o *Options, r *Result) error {
	out, err := envoygateway.Emit(j.Plan, o.global(), *o.EnvoyGateway, j.rep)
	if err != nil {
		return err
	}
	j.adviseAddresses()
	r.Plugin, r.PluginJSON, err = plugin.Emit(out.Policies, o.global())
	r.Files = []File{{PluginFile, r.PluginJSON}, {EnvoyGatewayFile, out.Manifest}}
	return err
}
