package resource

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// meantSettings are the settings of a SessionPersistencePolicy by what they are called elsewhere: in Gateway API, by
// other proxies, or in a Set-Cookie.
var meantSettings = map[string]string{
	"name": "sessionName", "cookieName": "sessionName", "cookie.name": "sessionName",
	"maxAge": "absoluteTimeout", "ttl": "absoluteTimeout",
	"cookie.maxAge": "absoluteTimeout", "cookie.ttl": "absoluteTimeout", "cookie.expires": "absoluteTimeout",
}

// suggestField says which field may be meant by one that a document's kind lacks, of which those beside it are given;
// empty if none is near.
func suggestField(d *read.Document, path string, beside []string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	gvk := gvkOf(d)
	switch {
	case strings.Contains(path, "."+sessionKey+".") && gvk.Group != v1alpha1.Group && isSetting(name):
		return "; write it in a " + object.KindSessionPolicy
	case gvk.Kind == object.KindSessionPolicy && name == sessionKey:
		return "; write what is below it in its place"
	}
	if gvk.Group == v1alpha1.Group {
		if meant := findMeant(gvk.Kind, path, name); meant != "" {
			return "; did you mean " + meant + "?"
		}
	}
	return suggest.DidYouMean(name, beside)
}

// inlineFields are the fields that a session has in Gateway API's own kinds as well, be it in another place.
var inlineFields = []string{"type", "sessionName", "absoluteTimeout", "path", "lifetimeType"}

// isSetting tells whether a field is one that a session has in a SessionPersistencePolicy alone.
func isSetting(name string) bool {
	fields := SupportedFields()[object.KindSessionPolicy]
	_, ofSession := fields["spec.default."+name]
	_, ofCookie := fields["spec.default.cookie."+name]
	return (ofSession || ofCookie) && !slices.Contains(inlineFields, name)
}

// findMeant finds the field of a kind of limpet's that goes by another name, or has the name and stands further below.
func findMeant(kind, path, name string) (meant string) {
	for _, block := range []string{"spec.default.", "spec.override.", "spec."} {
		if rest, in := strings.CutPrefix(path, block); in && kind == object.KindSessionPolicy && meantSettings[rest] != "" {
			return block + meantSettings[rest]
		}
	}
	above := strings.TrimSuffix(path, name)
	for other := range SupportedFields()[kind] {
		below, in := strings.CutPrefix(other, above)
		if !in || !strings.HasSuffix(below, "."+name) || strings.Contains(below, "[") {
			continue
		}
		if meant == "" || len(other) < len(meant) || len(other) == len(meant) && other < meant {
			meant = other
		}
	}
	return meant
}
