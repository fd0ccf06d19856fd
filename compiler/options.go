package compiler

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoygateway"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/istio"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The defaults of the options.
const (
	DefaultBind  = "0.0.0.0"
	DefaultAdmin = "127.0.0.1:9901"
	// DefaultClassPolicyNamespace is where policies for GatewayClasses count.
	DefaultClassPolicyNamespace = "limpet-system"
	// NoAdmin as EnvoyOptions.Admin leaves the admin interface out.
	NoAdmin = "none"
	// DefaultRouteBudget is what a gigabyte of memory has room for.
	DefaultRouteBudget = gateway.DefaultBudget
)

// What becomes of a split with a session policy on only one of its Services.
const (
	PartialAll    = "all"
	PartialReject = "reject"
)

// Options is what a compilation needs besides the documents. Options of other targets than the one that is asked for
// are refused.
type Options struct {
	// Target defaults to TargetEnvoy.
	Target Target
	// Bind is the IP address of listeners whose Gateway has no spec.addresses, for targets without a control plane.
	// Default DefaultBind.
	Bind string
	// LocalClients leaves out the advice that clients do not send Secure cookies back over plain HTTP, for listeners on a
	// loopback address: there they do. It does not change the output.
	LocalClients bool
	// Zone is the zone that Envoy runs in (topology.kubernetes.io/zone), for Services that prefer near endpoints; empty
	// for one that is not known. Only for TargetEnvoy and TargetPlugin.
	Zone string
	// Keys is the source of the key ring. Default: the environment variable LIMPET_KEYS.
	Keys policyconfig.Keys
	// Time is the transition time of conditions in status that are new or have changed, and the time by which
	// Served.Draining is judged. Nothing else depends on it.
	Time time.Time
	// GatewayAPI is the release of Gateway API, "1.6" or "1.7", that decides where a document does not show its
	// release (S18). Default: 1.6.
	GatewayAPI string
	// ClassPolicyNamespace is the one namespace whose policies for GatewayClasses count (S4). Default
	// DefaultClassPolicyNamespace.
	ClassPolicyNamespace string
	// PartialSplit is what becomes of a split with a policy on only one of its Services (S36): PartialAll, the
	// default, or PartialReject.
	PartialSplit string
	// ShareAddresses lets Gateways of different namespaces share an address and port, where the more specific hostname
	// wins. By default the senior Gateway's namespace has it, unless that Gateway allows others' listeners.
	ShareAddresses bool
	// Holders are those of the last result, for a process that compiles again and again: empty the first time, nil for
	// none.
	Holders *Holders
	// AccessLog has the filter publish each request's outcome, policy, age of the session, its host and why it moved as
	// filter state, and has TargetEnvoy write an access log with these, as JSON. SessionDigest adds a keyed digest of the
	// session's id.
	AccessLog, SessionDigest bool
	// LoggedHeaders are further fields of that log, and of those that Served.Telemetry turns on. Only for TargetEnvoy.
	LoggedHeaders LoggedHeaders
	// DebugTickets answers requests that have a ticket with what became of their session. Only for TargetEnvoy and
	// TargetPlugin: no backend sees a ticket.
	DebugTickets bool
	// AssumeAdmitted leaves out the checks of the CRDs, for documents that come from an API server.
	AssumeAdmitted bool
	// Strict turns findings with the verdict FailOn or a worse one into errors; FailOn defaults to Warning.
	Strict bool
	FailOn Verdict
	// HoldInvalid makes a Follower refuse a change with a file that can't be read, or a document that no API server would
	// admit: it may be half written, and what was before goes on serving. Such files and documents in the first input are
	// left out. Compile, which has no input before, refuses files that can't be read.
	HoldInvalid bool
	// ControllerName is the controllerName of the GatewayClasses that are limpet's, for targets without a control plane,
	// and who limpet is in status. Default v1alpha1.ControllerName.
	ControllerName string
	// AssumeClass takes a GatewayClass that is not in the input for limpet's, with a warning.
	AssumeClass bool
	// AllowEmpty allows a result without listeners.
	AllowEmpty bool
	// Namespace is that of documents without one. Default: "default".
	Namespace string
	// ExternalNames are the DNS names that routes may lead to by ExternalName Services and EndpointSlices with names, for
	// targets without a control plane: a name, "*." and a name for all below it, or "*" for all that lead out of the
	// machine and the cluster. Default: none.
	ExternalNames []string
	// RouteBudget is how many bytes of routes are laid out at most, of which each Gateway and each namespace of routes
	// gets two fifths (S87). Only for targets without a control plane. Default: DefaultRouteBudget.
	RouteBudget int
	// StrictKinds refuses documents that are passed over otherwise: those of kinds that limpet does not read, and those
	// that are no objects of Kubernetes.
	StrictKinds bool
	// SuggestNames makes Compile suggest a name where an object is not there, as Check does. A Follower does not: it would
	// compare all names with every change.
	SuggestNames bool
	// Since are the documents that are in force: Check warns of the rules whose sessions end with the new ones, and
	// lists the values that other objects than the rules' own change. Nothing else looks at it.
	Since []Source
	// CurrentStatus gives an object's current status, as JSON, for those who write a new one; nil where the documents have
	// it.
	CurrentStatus func(object.Ref) json.RawMessage

	// Envoy, EnvoyGateway and Istio are for the target of that name, which requires them.
	Envoy        *EnvoyOptions
	EnvoyGateway *EnvoyGatewayOptions
	Istio        *IstioOptions

	// bind, admin and release are what parse makes of the texts; admin is not valid for none.
	bind    netip.Addr
	admin   netip.AddrPort
	release sessionapi.APIRelease
	// writesNothing says that no output is written, so that the module's path or URL may be left out.
	writesNothing bool
	// manyRoutes is as in follow.Settings.
	manyRoutes int
}

// budget is how much is laid out.
func (o *Options) budget() gateway.Budget {
	return gateway.Budget{All: cmp.Or(o.RouteBudget, DefaultRouteBudget)}
}

// IsNamePattern reports whether a text can be one of Options.ExternalNames.
func IsNamePattern(pattern string) bool { return backend.IsNamePattern(pattern) }

// EnvoyOptions is what TargetEnvoy needs.
type EnvoyOptions struct {
	// Admin is the IP address and port of Envoy's admin interface, or NoAdmin. Default DefaultAdmin.
	Admin string
	// AdminAll opens all pages of the admin interface, among them /config_dump and those that change Envoy; without it
	// only those are open that show how Envoy is. It requires a loopback address.
	AdminAll bool
	// Native has Envoy load the filter as a dynamic module, liblimpet.so, in place of limpet.wasm (docs/native.md).
	Native bool
	// ModulePath is the path of the filter as it shall stand in the bootstrap; Envoy resolves it from the folder that it
	// is started in. Required.
	ModulePath string
	// ModuleSHA256 has Envoy fetch limpet.wasm, whose hash that is: ModulePath is then its path at the server that the
	// bootstrap of ServerBootstrap names for it.
	ModuleSHA256 string
	// ShardModule is, for a server, the path of limpet-shard.so, with which Envoys have a table for each shard of a
	// listener's routes (docs/serve.md); empty for one table. Envoys that have no such file have one table.
	ShardModule string
	// Unusable are the addresses at which the machine that Envoy runs on does not let it listen, with the reasons:
	// listeners are left out there.
	Unusable map[netip.AddrPort]string
	// Machine are the addresses of the machine that Envoy runs on, where they are known: what listens on every address is
	// reached at these.
	Machine []netip.Addr
	// Served makes a Result.Served, for an xDS server, in place of files.
	Served *Served
}

// EnvoyGatewayOptions is what TargetEnvoyGateway needs: WasmURL and WasmSHA256, or NativePath, and Owner.
type EnvoyGatewayOptions = envoygateway.Options

// IstioOptions is what TargetIstio needs: WasmURL, WasmSHA256, Phase, Priority, FailStrategy, TrafficExtension and
// NativePin, or NativePath; RootNamespace and Owner.
type IstioOptions = istio.Options

// ScopeKeys is a key ring whose scopes' keys proxies get, sealed for each Gateway under a secret that is derived from a
// root secret.
type ScopeKeys = envoy.ScopeKeys

// global is what holds for all policies of the filter.
func (o *Options) global() plugin.Global {
	return plugin.Global{
		Keys: o.Keys, AccessLogFields: o.AccessLog, SessionDigest: o.SessionDigest, DebugTickets: o.DebugTickets,
	}
}

// served returns the options for an xDS server; nil without one.
func (o *Options) served() *Served {
	if o.Envoy == nil {
		return nil
	}
	return o.Envoy.Served
}

// areApart tells whether each Gateway has proxies of its own.
func (o *Options) areApart() bool { return o.served() != nil && !o.served().Together }

// envoySettings are those of package envoy.
func (o *Options) envoySettings(config policyconfig.Config, text []byte) envoy.Settings {
	s := envoy.Settings{
		Admin: o.admin, AdminAll: o.Envoy.AdminAll, ModulePath: o.Envoy.ModulePath, ModuleSHA256: o.Envoy.ModuleSHA256,
		Native: o.Envoy.Native, Plugin: config, PluginJSON: text, Logged: o.LoggedHeaders,
	}
	if o.served() != nil {
		s.ShardModule = o.Envoy.ShardModule
	}
	return s
}

// admissionOptions are those of package resource.
func (o *Options) admissionOptions() resource.Options {
	return resource.Options{
		Release: o.release, AssumeAdmitted: o.AssumeAdmitted, ExternalControlPlane: o.Target.findController() != "",
		PlatformKinds: o.Target.findEmitter().platformKinds, Istio: o.Target == TargetIstio,
		Namespace: o.Namespace, StrictKinds: o.StrictKinds,
	}
}

// pipelineSettings are those of package pipeline.
func (o *Options) pipelineSettings() pipeline.Settings {
	s := pipeline.Settings{
		ControlPlane: o.Target.findController(), PlatformBackends: o.Target.findEmitter().platformBackends,
		Bind: o.bind, Budget: o.budget(), Apart: o.areApart(), AssumeClass: o.AssumeClass,
		ExternalNames: o.ExternalNames, Zone: o.Zone, Own: []netip.AddrPort{o.admin},
		Policy: o.policyOptions(), LocalClients: o.LocalClients,
		WithoutPods: o.Target != TargetEnvoy, NamePods: o.Target == TargetEnvoy && o.AccessLog,
	}
	if o.Envoy != nil {
		s.Machine, s.Native = o.Envoy.Machine, o.Envoy.Native
	}
	if served := o.served(); served != nil {
		s.Own, s.Remote = append(s.Own, served.Own...), served.Remote
	}
	return s
}

// policyOptions are those of package policy.
func (o *Options) policyOptions() policy.Options {
	return policy.Options{
		Release: o.release, ClassPolicies: o.ClassPolicyNamespace, RejectPartial: o.PartialSplit == PartialReject,
		ExternalControlPlane: o.Target.findController() != "", HidesTokens: o.Target != TargetIstio,
		KnowsTermination: o.served() != nil, Logged: o.LoggedHeaders.Has,
	}
}
