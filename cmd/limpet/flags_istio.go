package main

import (
	"math"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/istio"
)

// istioFlags are those of -t istio alone.
type istioFlags struct {
	phase            string
	priority         string
	failStrategy     string
	rootNamespace    string
	trafficExtension bool
	nativePin        bool
}

func (i *istioFlags) register(f *pflag.FlagSet) {
	f.StringVar(&i.phase, "istio-phase", "", "`PHASE` of the plugin: AUTHN, AUTHZ or STATS (default: after all)")
	f.StringVar(&i.priority, "istio-priority", "", "`NUMBER` that orders plugins of one phase, the higher first")
	f.StringVar(&i.failStrategy, "istio-fail-strategy", istio.DefaultFailStrategy,
		"`WHAT` becomes of requests while the plugin fails:\nFAIL_CLOSE, FAIL_OPEN or FAIL_RELOAD")
	f.StringVar(&i.rootNamespace, "istio-root-namespace", istio.DefaultRootNamespace, "the mesh's root `NAMESPACE`")
	f.BoolVar(&i.trafficExtension, "istio-traffic-extension", false,
		"write TrafficExtensions (Istio 1.31) instead of WasmPlugins")
	f.BoolVar(&i.nativePin, "istio-native-pin", false,
		"let Istio's own persistent sessions pin, by a label on Services;\n"+
			"istiod needs PILOT_ENABLE_PERSISTENT_SESSION_FILTER")
}

// parsePriority gives the priority, nil for none.
func (i *istioFlags) parsePriority() (*int32, error) {
	if i.priority == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(i.priority, 10, 32)
	if err != nil {
		return nil, usagef("--istio-priority %q: must be a whole number from %d to %d",
			i.priority, math.MinInt32, math.MaxInt32)
	}
	priority := int32(n)
	return &priority, nil
}

// options are the target's, of flags whose priority is checked.
func (i *istioFlags) options(module moduleFlags, nativePath string) *compiler.IstioOptions {
	if nativePath != "" {
		return &compiler.IstioOptions{NativePath: nativePath, RootNamespace: i.rootNamespace, Owner: module.owner}
	}
	priority, _ := i.parsePriority()
	return &compiler.IstioOptions{
		WasmURL: module.url, WasmSHA256: module.sha256, Phase: i.phase, Priority: priority, FailStrategy: i.failStrategy,
		TrafficExtension: i.trafficExtension, NativePin: i.nativePin, RootNamespace: i.rootNamespace, Owner: module.owner,
	}
}
