package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/utils/ptr"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// parse fills in the defaults and parses what is more than text.
func (o *Options) parse() (err error) {
	o.Target = cmp.Or(o.Target, TargetEnvoy)
	o.Bind = cmp.Or(o.Bind, DefaultBind)
	o.ClassPolicyNamespace = cmp.Or(o.ClassPolicyNamespace, DefaultClassPolicyNamespace)
	o.PartialSplit = cmp.Or(o.PartialSplit, PartialAll)
	var errs []error
	if o.PartialSplit != PartialAll && o.PartialSplit != PartialReject {
		errs = append(errs, fmt.Errorf("partial split: Unsupported value: %q: supported values: %q, %q",
			o.PartialSplit, PartialAll, PartialReject))
	}
	switch o.GatewayAPI {
	case "":
	case sessionapi.Release16.String():
		o.release = sessionapi.Release16
	case sessionapi.Release17.String():
		o.release = sessionapi.Release17
	default:
		errs = append(errs, fmt.Errorf("gateway API: Unsupported value: %q: supported values: %q, %q",
			o.GatewayAPI, sessionapi.Release16, sessionapi.Release17))
	}
	errs = append(errs, o.checkTelemetry(), o.parseTarget())
	if o.bind, err = netip.ParseAddr(o.Bind); err != nil || o.bind.Zone() != "" {
		errs = append(errs, fmt.Errorf("bind address: Invalid value: %q: must be an IP address", o.Bind))
	}
	for _, pattern := range o.ExternalNames {
		if !backend.IsNamePattern(pattern) {
			errs = append(errs, fmt.Errorf("external names: Invalid value: %q: must be a DNS name, \"*.\" and a DNS name, "+
				"or \"*\"", pattern))
		}
	}
	return errors.Join(errs...)
}

// checkTelemetry refuses settings of access logs that would have no effect, and tickets where others make the routes:
// backends of rules without sessions would see them.
func (o *Options) checkTelemetry() error {
	switch {
	case o.SessionDigest && !o.AccessLog:
		return errors.New("session digest: Forbidden: may only be set with an access log")
	case !o.LoggedHeaders.IsEmpty() && (!o.AccessLog && o.served() == nil || o.Target != TargetEnvoy):
		return errors.New("access log headers: Forbidden: may only be set with an access log, for target envoy")
	case o.DebugTickets && o.Target != TargetEnvoy && o.Target != TargetPlugin:
		return fmt.Errorf("debug tickets: Unsupported value: not for target %s, where backends of rules without sessions "+
			"would see tickets", o.Target)
	}
	return checkLogged(o.LoggedHeaders)
}

// parseTarget checks the target and the options that it alone has.
func (o *Options) parseTarget() error {
	if err := o.Target.validate(); err != nil {
		return err
	}
	var errs []error
	for _, other := range emitters {
		if other.target != o.Target && other.hasOptions != nil && other.hasOptions(o) {
			errs = append(errs, fmt.Errorf("%s options: Forbidden: the target is %s", other.target, o.Target))
		}
	}
	if o.Zone != "" && o.Target.findController() != "" {
		errs = append(errs, fmt.Errorf("zone: Forbidden: with target %s the control plane prefers near endpoints itself",
			o.Target))
	}
	if parse := o.Target.findEmitter().parse; parse != nil {
		errs = append(errs, parse(o))
	}
	return errors.Join(errs...)
}

// parseEnvoy completes and checks the options of TargetEnvoy.
func (o *Options) parseEnvoy() (err error) {
	own := ptr.Deref(o.Envoy, EnvoyOptions{})
	o.Envoy, own.Admin = &own, cmp.Or(own.Admin, DefaultAdmin)
	var errs []error
	if own.ModulePath == "" && !o.writesNothing {
		errs = append(errs, errors.New("module path: Required value"))
	}
	if own.Admin == NoAdmin {
		return errors.Join(errs...)
	}
	if o.admin, err = netip.ParseAddrPort(own.Admin); err != nil || o.admin.Port() == 0 {
		errs = append(errs, fmt.Errorf("admin address: Invalid value: %q: must be an IP address and a port, such as %s, "+
			"or %s", own.Admin, DefaultAdmin, NoAdmin))
	} else if own.AdminAll && !o.admin.Addr().IsLoopback() {
		errs = append(errs, fmt.Errorf("admin address: Invalid value: %q: must be a loopback address where all pages are "+
			"open", own.Admin))
	}
	return errors.Join(errs...)
}

// anyURL takes the place of the module's URL where nothing is written.
const anyURL = "https://example.com/limpet.wasm"

// parseEnvoyGateway completes and checks the options of TargetEnvoyGateway.
func (o *Options) parseEnvoyGateway() error {
	own := ptr.Deref(o.EnvoyGateway, EnvoyGatewayOptions{})
	if o.EnvoyGateway = &own; o.writesNothing && own.NativePath == "" {
		own.WasmURL = cmp.Or(own.WasmURL, anyURL)
	}
	return own.Check()
}

// parseIstio completes and checks the options of TargetIstio.
func (o *Options) parseIstio() error {
	own := ptr.Deref(o.Istio, IstioOptions{})
	if o.Istio = &own; o.writesNothing && own.NativePath == "" {
		own.WasmURL = cmp.Or(own.WasmURL, anyURL)
	}
	return own.Check()
}
