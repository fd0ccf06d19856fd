package envoygateway

import (
	"bytes"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// With the native filter Envoy Gateway loads liblimpet.so by two objects: an EnvoyProxy names the file, and an
// EnvoyExtensionPolicy names the module of the EnvoyProxy. The module names the host of a session itself: routes have
// no session persistence, and no header is fenced.
const dynamicModule = "dynamicModule" // the field of an EnvoyExtensionPolicy

// sessionsMark is on routes whose own session persistence the native filter has taken over. With limpet.wasm the
// internal header in its place tells them.
const sessionsMark = "limpet.dev/session-persistence"

// isNative tells whether proxies load liblimpet.so.
func (o *Options) isNative() bool { return o.NativePath != "" }

// allowModule adds the module to those that an EnvoyProxy allows; without it Envoy Gateway answers 500 to routes with
// sessions.
func (e *emitter) allowModule(spec jsonObject) {
	source := jsonObject{"type": "Local", "local": jsonObject{"path": e.options.NativePath}}
	for _, one := range listObjects(spec, "dynamicModules") {
		if stringField(one, "name") == filterName {
			one["source"] = source
			return
		}
	}
	appendEntry(spec, "dynamicModules", jsonObject{"name": filterName, "source": source})
}

// markRoute marks a route that loses its own session persistence.
func (e *emitter) markRoute(route *ir.RouteObject, doc jsonObject) {
	if e.options.isNative() && len(route.InlineSessions) > 0 {
		childObject(doc, "metadata", "annotations")[sessionsMark] = "compiled"
	}
}

// findSessionsMark finds the mark on a route that limpet wrote: the session persistence that it had is not in it.
func findSessionsMark(route *ir.RouteObject) (path string, why *field.Error) {
	if !bytes.Contains(route.JSON, []byte(sessionsMark)) {
		return "", nil
	}
	var written struct {
		Metadata struct{ Annotations map[string]string }
	}
	_ = parseJSON(route.JSON, &written) // of what can't be read nothing is found
	value, is := written.Metadata.Annotations[sessionsMark]
	if !is {
		return "", nil
	}
	at := field.NewPath("metadata", "annotations").Key(sessionsMark)
	return at.String(), field.Invalid(at, value,
		"is on a route that limpet wrote without its session persistence; compile the route that it came from")
}
