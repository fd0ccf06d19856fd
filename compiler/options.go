package compiler

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/limpet-proxy/limpet/policy-config"
)

// Target is what a compilation writes.
type Target string

// The targets: a complete Envoy bootstrap beside the plugin configuration, or the latter alone.
const (
	TargetEnvoy  Target = "envoy"
	TargetPlugin Target = "plugin"
)

// The defaults of the options.
const (
	DefaultBind  = "0.0.0.0"
	DefaultAdmin = "127.0.0.1:9901"
	// NoAdmin as Options.Admin leaves the admin interface out.
	NoAdmin = "none"
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
	// Keys is the source of the key ring. Default: the environment variable LIMPET_KEYS.
	Keys policyconfig.Keys
	// Time is the transition time of conditions in status that are new or have changed. Nothing else hangs on it.
	Time time.Time
	// Strict makes errors of the warnings that are more than advice.
	Strict bool
}

// check fills in the defaults and parses the addresses.
func (o *Options) check() (settings, error) {
	if o.Target == "" {
		o.Target = TargetEnvoy
	}
	if o.Bind == "" {
		o.Bind = DefaultBind
	}
	if o.Admin == "" {
		o.Admin = DefaultAdmin
	}
	var s settings
	var errs []error
	if o.Target != TargetEnvoy && o.Target != TargetPlugin {
		errs = append(errs, fmt.Errorf("target: Unsupported value: %q: supported values: %q, %q", o.Target, TargetEnvoy, TargetPlugin))
	}
	if o.Target == TargetEnvoy && o.WasmPath == "" {
		errs = append(errs, errors.New("wasm path: Required value"))
	}
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
