package istio

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	"github.com/limpet-proxy/limpet/internal/digest"
)

// DefaultRootNamespace is that of an installation with Istio's own defaults.
const DefaultRootNamespace = "istio-system"

// The values of options that are words.
var (
	schemes        = []string{"file", "https", "oci"}
	phases         = []string{"AUTHN", "AUTHZ", "STATS"}
	failStrategies = []string{"FAIL_CLOSE", "FAIL_OPEN", "FAIL_RELOAD"}
)

// Check fills in the defaults and gives every fault of the options.
func (o *Options) Check() error {
	if o.RootNamespace == "" {
		o.RootNamespace = DefaultRootNamespace
	}
	var errs []error
	if o.isNative() {
		errs = append(errs, filtermodule.CheckNativePath(o.NativePath, o.WasmURL), o.refusePlugins())
	} else {
		errs = append(errs, o.checkPlugin())
	}
	if faults := validation.IsDNS1123Label(o.RootNamespace); len(faults) > 0 {
		errs = append(
			errs,
			fmt.Errorf("istio root namespace: Invalid value: %q: %s", o.RootNamespace, strings.Join(faults, "; ")),
		)
	}
	return errors.Join(errs...)
}

// checkPlugin fills in the defaults of what is said of the plugin, and checks it.
func (o *Options) checkPlugin() error {
	if o.FailStrategy == "" {
		o.FailStrategy = DefaultFailStrategy
	}
	errs := []error{o.checkURL()}
	if o.WasmSHA256 != "" && !digest.IsHex(o.WasmSHA256) {
		errs = append(errs, errors.New("wasm sha256: Invalid value: must be 64 hexadecimal digits in lower case"))
	}
	if o.Phase != "" {
		errs = append(errs, checkOneOf("istio phase", o.Phase, phases))
	}
	errs = append(errs, checkOneOf("istio fail strategy", o.FailStrategy, failStrategies))
	return errors.Join(errs...)
}

// refusePlugins refuses what is about plugins where there is none.
func (o *Options) refusePlugins() error {
	if o.WasmSHA256 == "" && o.Phase == "" && o.Priority == nil && o.FailStrategy == "" && !o.TrafficExtension &&
		!o.NativePin {
		return nil
	}
	return errors.New(
		"native path: Forbidden: with sum, phase, priority, fail strategy, TrafficExtension or Istio's own pin: " +
			"no plugin is written, and the native filter pins itself",
	)
}

func (o *Options) checkURL() error {
	if o.WasmURL == "" {
		return errors.New("wasm URL: Required value: where Istio's proxies find limpet.wasm, " +
			"such as oci://registry.example.com/limpet:1.0")
	}
	u, err := url.Parse(o.WasmURL)
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme):
		return fmt.Errorf("wasm URL: Invalid value: %q: must begin with oci://, https:// or file://", o.WasmURL)
	case (u.Scheme == "file") != (u.Host == ""), u.Path == "", u.Path == "/":
		return fmt.Errorf(
			"wasm URL: Invalid value: %q: must name a host and a module, or for file:// an absolute path",
			o.WasmURL,
		)
	}
	return nil
}

func checkOneOf(name, value string, supported []string) error {
	if slices.Contains(supported, value) {
		return nil
	}
	return fmt.Errorf(
		"%s: Unsupported value: %q: supported values: %s",
		name,
		value,
		`"`+strings.Join(supported, `", "`)+`"`,
	)
}
