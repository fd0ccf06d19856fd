package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoygateway"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/istio"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	"github.com/limpet-proxy/limpet/policy-config"
)

// The defaults of the options.
const (
	DefaultBind  = "0.0.0.0"
	DefaultAdmin = "127.0.0.1:9901"
	// DefaultClassPolicyNamespace is where policies for GatewayClasses count.
	DefaultClassPolicyNamespace = "limpet-system"
	// NoAdmin as Options.Admin leaves the admin interface out.
	NoAdmin = "none"
)

// What becomes of a split with a session policy on only one of its Services.
const (
	PartialAll    = "all"
	PartialReject = "reject"
)

// Options is what a compilation needs beside the documents.
type Options struct {
	// Target defaults to TargetEnvoy.
	Target Target
	// Bind is the IP address of listeners whose Gateway has no spec.addresses. Default DefaultBind.
	Bind string
	// Admin is the IP address and port of Envoy's admin interface, or NoAdmin. Default DefaultAdmin.
	Admin string
	// WasmPath is the path of limpet.wasm as it shall stand in the bootstrap; Envoy resolves it from the folder
	// that it is started in. Required for TargetEnvoy.
	WasmPath string
	// WasmURL is where TargetEnvoyGateway has limpet.wasm from: an https or http URL of the module, or oci:// and the
	// name of an image. Required for it. WasmSHA256 is, in hexadecimal, that of the module, or of the image's manifest;
	// empty for unchecked.
	WasmURL, WasmSHA256 string
	// Keys is the source of the key ring. Default: the environment variable LIMPET_KEYS.
	Keys policyconfig.Keys
	// Time is the transition time of conditions in status that are new or have changed, and the time by which Hot.Draining
	// is judged. Nothing else hangs on it.
	Time time.Time
	// GatewayAPI is the release of Gateway API, "1.6" or "1.7", that decides where a document does not show its
	// generation (S18). Default: 1.6.
	GatewayAPI string
	// ClassPolicyNamespace is the one namespace whose policies for GatewayClasses count (S4). Default
	// DefaultClassPolicyNamespace.
	ClassPolicyNamespace string
	// PartialSplit is what becomes of a split with a policy on only one of its Services (S36): PartialAll, the
	// default, or PartialReject.
	PartialSplit string
	// AssumeAdmitted leaves out the checks of the CRDs, for documents that come from an API server.
	AssumeAdmitted bool
	// Dynamic, with TargetEnvoy, gives a Result.Discovery beside a bootstrap that points at its files; nil puts all of it
	// into the bootstrap.
	Dynamic *Dynamic
	// Cache keeps work from one compilation to the next; nil for none. It does not change what comes out.
	Cache *Cache
	// Istio is what TargetIstio needs beside.
	Istio istio.Settings
	// Strict makes errors of the warnings that are more than advice.
	Strict bool
}

// Dynamic says how a configuration is laid out that changes while Envoy runs.
type Dynamic struct {
	// Folder is where Envoy finds the files of Result.Discovery.
	Folder string
	// EndpointFiles is the number of clusters up to which each has a file for its endpoints; see envoy.Discover.
	EndpointFiles int
	// Draining says since when hosts terminate that still serve; those that are not in it begin at Options.Time.
	Draining map[netip.AddrPort]time.Time
}

// newDraining is what is known of hosts that terminate; nil for nothing.
func (o *Options) newDraining() *lower.Draining {
	if o.Dynamic == nil {
		return nil
	}
	return &lower.Draining{Now: o.Time, Since: o.Dynamic.Draining}
}

// parse fills in the defaults and parses the addresses.
func (o *Options) parse() (parsedOptions, error) {
	o.Target = cmp.Or(o.Target, TargetEnvoy)
	o.Bind = cmp.Or(o.Bind, DefaultBind)
	o.Admin = cmp.Or(o.Admin, DefaultAdmin)
	o.ClassPolicyNamespace = cmp.Or(o.ClassPolicyNamespace, DefaultClassPolicyNamespace)
	o.PartialSplit = cmp.Or(o.PartialSplit, PartialAll)
	var s parsedOptions
	var errs []error
	if o.PartialSplit != PartialAll && o.PartialSplit != PartialReject {
		errs = append(errs, fmt.Errorf("partial split: Unsupported value: %q: supported values: %q, %q", o.PartialSplit, PartialAll, PartialReject))
	}
	switch o.GatewayAPI {
	case "":
	case sessionapi.Release16.String():
		s.generation = sessionapi.Release16
	case sessionapi.Release17.String():
		s.generation = sessionapi.Release17
	default:
		errs = append(errs, fmt.Errorf("gateway API: Unsupported value: %q: supported values: %q, %q", o.GatewayAPI, sessionapi.Release16, sessionapi.Release17))
	}
	errs = append(errs, o.checkTarget())
	var err error
	if s.bind, err = netip.ParseAddr(o.Bind); err != nil || s.bind.Zone() != "" {
		errs = append(errs, fmt.Errorf("bind address: Invalid value: %q: must be an IP address", o.Bind))
	}
	if o.Admin != NoAdmin {
		if s.admin, err = netip.ParseAddrPort(o.Admin); err != nil || s.admin.Port() == 0 {
			errs = append(errs, fmt.Errorf("admin address: Invalid value: %q: must be an IP address and a port, such as %s, or %s", o.Admin, DefaultAdmin, NoAdmin))
		}
	}
	return s, errors.Join(errs...)
}

// checkTarget checks the target and what it needs.
func (o *Options) checkTarget() error {
	switch o.Target {
	case TargetEnvoy:
		if o.WasmPath == "" {
			return errors.New("wasm path: Required value")
		}
	case TargetEnvoyGateway:
		if err := (envoygateway.Module{URL: o.WasmURL}).Check(); err != nil {
			return fmt.Errorf("wasm URL: Invalid value: %q: %w", o.WasmURL, err)
		}
	case TargetIstio:
		o.Istio.URL, o.Istio.SHA256 = o.WasmURL, o.WasmSHA256
		return o.Istio.Check()
	}
	return o.Target.validate()
}
