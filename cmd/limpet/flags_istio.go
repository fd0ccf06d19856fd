package main

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/istio"
)

// The settings of --istio.
const (
	istioPhase         = "phase"
	istioPriority      = "priority"
	istioFailStrategy  = "fail-strategy"
	istioRootNamespace = "root-namespace"
	istioExtension     = "traffic-extension"
	istioNativePin     = "native-pin"
)

// istioFlags are the settings of -t istio alone.
type istioFlags struct {
	settings map[string]string
	options  compiler.IstioOptions
}

func (i *istioFlags) register(f *pflag.FlagSet) {
	f.StringToStringVar(&i.settings, "istio", nil,
		"settings of -t istio, `KEY=VALUE`, several with commas between them:\n"+
			"phase=AUTHN, AUTHZ or STATS of the plugin (default: after all);\n"+
			"priority=NUMBER that orders plugins of one phase, the higher first;\n"+
			"fail-strategy=FAIL_CLOSE, FAIL_OPEN or FAIL_RELOAD (default "+istio.DefaultFailStrategy+");\n"+
			"root-namespace=NAMESPACE of the mesh (default "+istio.DefaultRootNamespace+");\n"+
			"traffic-extension=true for TrafficExtensions (Istio 1.31), no WasmPlugins;\n"+
			"native-pin=true lets Istio's own persistent sessions pin, by a label on\n"+
			"Services; istiod needs PILOT_ENABLE_PERSISTENT_SESSION_FILTER")
	f.Lookup("istio").DefValue = "" // which is said of each
}

// checkFlags refuses unknown settings, and reads the others.
func (i *istioFlags) checkFlags(target compiler.Target) error {
	if len(i.settings) > 0 && target != compiler.TargetIstio {
		return usagef("--istio has no effect with -t %s", target)
	}
	i.options = compiler.IstioOptions{FailStrategy: istio.DefaultFailStrategy, RootNamespace: istio.DefaultRootNamespace}
	for _, key := range slices.Sorted(maps.Keys(i.settings)) {
		if err := i.set(key, i.settings[key]); err != nil {
			return err
		}
	}
	return nil
}

func (i *istioFlags) set(key, value string) (err error) {
	o := &i.options
	switch key {
	case istioPhase:
		o.Phase = value
	case istioPriority:
		n, failed := strconv.ParseInt(value, 10, 32)
		if failed != nil {
			return usagef("--istio priority=%s: must be a whole number from %d to %d", value, math.MinInt32, math.MaxInt32)
		}
		priority := int32(n)
		o.Priority = &priority
	case istioFailStrategy:
		o.FailStrategy = value
	case istioRootNamespace:
		o.RootNamespace = value
	case istioExtension:
		o.TrafficExtension, err = parseSwitch(key, value)
	case istioNativePin:
		o.NativePin, err = parseSwitch(key, value)
	default:
		err = checkChoice("istio", key,
			istioPhase, istioPriority, istioFailStrategy, istioRootNamespace, istioExtension, istioNativePin)
	}
	return err
}

func parseSwitch(key, value string) (bool, error) {
	if value != "true" && value != "false" {
		return false, usagef("--istio %s=%s: must be true or false", key, value)
	}
	return value == "true", nil
}

// optionsOf returns the target's options, by settings that are checked.
func (i *istioFlags) optionsOf(module moduleFlags, nativePath string) *compiler.IstioOptions {
	o := i.options
	o.Owner = module.owner
	if nativePath != "" {
		return &compiler.IstioOptions{NativePath: nativePath, RootNamespace: o.RootNamespace, Owner: o.Owner}
	}
	o.WasmURL, o.WasmSHA256 = module.url, module.sha256
	return &o
}
