package envoygateway

import (
	"fmt"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
)

// Options is what the manifest needs besides the routes.
type Options struct {
	// WasmURL is where Envoy Gateway downloads limpet.wasm from, to hand it to its proxies: http://... or https://... of
	// the module, or oci://REGISTRY/REPOSITORY of an image. It or NativePath is required.
	WasmURL string
	// WasmSHA256 is, in hexadecimal, that of the module, or of the image's manifest; empty for unchecked.
	WasmSHA256 string
	// NativePath is where the proxies find liblimpet.so, in their image: the native filter in place of limpet.wasm.
	NativePath string
	// Owner is whom the resources are for, in a label of theirs; empty for none.
	Owner string
}

const imageScheme = "oci://"

// Check gives an error for a URL that Envoy Gateway has no way to follow, or for a filter that proxies have no way to
// find.
func (o *Options) Check() error {
	if o.isNative() {
		return filtermodule.CheckNativePath(o.NativePath, o.WasmURL)
	}
	for _, scheme := range []string{"http://", "https://", imageScheme} {
		if rest, is := strings.CutPrefix(o.WasmURL, scheme); is && rest != "" {
			return nil
		}
	}
	return fmt.Errorf("wasm URL: Invalid value: %q: must begin with https://, http:// or oci://, "+
		"for Envoy Gateway downloads the module itself", o.WasmURL)
}

// newCodeSource is the module as a policy names it.
func (o *Options) newCodeSource() jsonObject {
	source := jsonObject{"url": o.WasmURL}
	if o.WasmSHA256 != "" {
		source["sha256"] = o.WasmSHA256
	}
	if image, is := strings.CutPrefix(o.WasmURL, imageScheme); is {
		source["url"] = image
		return jsonObject{"type": "Image", "image": source}
	}
	return jsonObject{"type": "HTTP", "http": source}
}
