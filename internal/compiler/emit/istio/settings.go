package istio

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/limpet-proxy/limpet/internal/digest"
)

// DefaultRootNamespace is that of an installation with Istio's own defaults.
const DefaultRootNamespace = "istio-system"

// The values of settings that are words.
var (
	schemes        = []string{"file", "https", "oci"}
	phases         = []string{"AUTHN", "AUTHZ", "STATS"}
	failStrategies = []string{"FAIL_CLOSE", "FAIL_OPEN", "FAIL_RELOAD"}
)

// Check fills in the defaults and gives every fault of the settings.
func (s *Settings) Check() error {
	if s.FailStrategy == "" {
		s.FailStrategy = DefaultFailStrategy
	}
	if s.RootNamespace == "" {
		s.RootNamespace = DefaultRootNamespace
	}
	errs := []error{s.checkURL()}
	if s.SHA256 != "" && !digest.IsHex(s.SHA256) {
		errs = append(errs, errors.New("wasm sha256: Invalid value: must be 64 hexadecimal digits in lower case"))
	}
	if s.Phase != "" {
		errs = append(errs, checkOneOf("istio phase", s.Phase, phases))
	}
	errs = append(errs, checkOneOf("istio fail strategy", s.FailStrategy, failStrategies))
	if faults := validation.IsDNS1123Label(s.RootNamespace); len(faults) > 0 {
		errs = append(errs, fmt.Errorf("istio root namespace: Invalid value: %q: %s", s.RootNamespace, strings.Join(faults, "; ")))
	}
	return errors.Join(errs...)
}

func (s *Settings) checkURL() error {
	if s.URL == "" {
		return errors.New("wasm URL: Required value: where Istio's proxies find limpet.wasm, such as oci://registry.example.com/limpet:1.0")
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme):
		return fmt.Errorf("wasm URL: Invalid value: %q: must begin with oci://, https:// or file://", s.URL)
	case u.Scheme == "file" && (u.Host != "" || u.Path == "" || u.Path == "/"), u.Scheme != "file" && (u.Host == "" || u.Path == "" || u.Path == "/"):
		return fmt.Errorf("wasm URL: Invalid value: %q: must name a host and a module, or for file:// an absolute path", s.URL)
	}
	return nil
}

func checkOneOf(name, value string, supported []string) error {
	if slices.Contains(supported, value) {
		return nil
	}
	return fmt.Errorf("%s: Unsupported value: %q: supported values: %s", name, value, `"`+strings.Join(supported, `", "`)+`"`)
}
