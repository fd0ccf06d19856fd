package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/digest"
)

// moduleFlags say where the control planes of other targets than Envoy find the filter.
type moduleFlags struct {
	url    string
	sha256 string
	owner  string
}

func (m *moduleFlags) register(f *pflag.FlagSet) {
	f.StringVar(&m.url, "wasm-url", "",
		"where a control plane finds limpet.wasm: `URL` of the module (https://,\n"+
			"for Istio file:// too) or of an image (oci://, as 'limpet image push' prints\n"+
			"it), with @sha256:HEX behind it if it is not this limpet's own")
	f.StringVar(&m.owner, "owner", "",
		"`NAME` for a label of the objects for a control plane; others' objects\n"+
			"in the input are not written over")
}

// checkFlags refuses wrong flags, and finds the sum of what the URL leads to.
func (m *moduleFlags) checkFlags(target compiler.Target, native bool) (err error) {
	faults := validation.IsValidLabelValue(m.owner)
	switch {
	case len(faults) > 0:
		return usagef("--owner %q: %s", m.owner, strings.Join(faults, "; "))
	case native:
		return nil // its path is checked
	case target == compiler.TargetEnvoyGateway && m.url == "":
		return usagef("-t %s needs --wasm-url: where Envoy Gateway finds limpet.wasm", target)
	case target == compiler.TargetIstio && m.url == "":
		return usagef("-t %s needs --wasm-url: where Istio's proxies find limpet.wasm", target)
	case m.url == "":
		return nil
	}
	if m.sha256, err = findSum(m.url); err == nil && !isImage(m.url) {
		m.url, _, _ = strings.Cut(m.url, digest.Mark)
	}
	return err
}

func isImage(url string) bool { return strings.HasPrefix(url, "oci://") }

// findSum gives the SHA-256 that a URL names, or of this limpet's own module or image.
func findSum(url string) (string, error) {
	if sum, pinned := digest.FromReference(url); pinned {
		if !digest.IsHex(sum) {
			return "", usagef("--wasm-url %q: must end in 64 hexadecimal digits in lower case", url)
		}
		return sum, nil
	}
	if isImage(url) {
		image, err := makeImage()
		if err != nil {
			return "", err
		}
		sum, err := image.Digest()
		return sum.Hex, err
	}
	module, err := readModule()
	if err != nil {
		return "", fmt.Errorf("%w, or name another's SHA-256: --wasm-url %s%sHEX", err, url, digest.Mark)
	}
	return digest.OfBytes(module), nil
}
