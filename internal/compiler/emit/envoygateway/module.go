package envoygateway

import (
	"errors"
	"strings"
)

// Module is where Envoy Gateway downloads the filter from, to hand it to its proxies.
type Module struct {
	// URL is http://... or https://... of the module, or oci://REGISTRY/REPOSITORY of an image.
	URL string
	// SHA256 is, in hexadecimal, that of the module, or of the image's manifest.
	SHA256 string
}

const imageScheme = "oci://"

// Check gives an error for a URL that Envoy Gateway has no way to follow.
func (m Module) Check() error {
	for _, scheme := range []string{"http://", "https://", imageScheme} {
		if rest, is := strings.CutPrefix(m.URL, scheme); is && rest != "" {
			return nil
		}
	}
	return errors.New("must begin with https://, http:// or oci://, for Envoy Gateway downloads the module itself")
}

// newCodeSource is the module as a policy names it.
func (m Module) newCodeSource() jsonObject {
	source := jsonObject{"url": m.URL}
	if m.SHA256 != "" {
		source["sha256"] = m.SHA256
	}
	if image, is := strings.CutPrefix(m.URL, imageScheme); is {
		source["url"] = image
		return jsonObject{"type": "Image", "image": source}
	}
	return jsonObject{"type": "HTTP", "http": source}
}
