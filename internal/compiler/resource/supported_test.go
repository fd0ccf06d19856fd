package resource

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/contourapi"
)

var goTypes = map[string]reflect.Type{
	"GatewayClass":             reflect.TypeFor[gatewayv1.GatewayClass](),
	"Gateway":                  reflect.TypeFor[gatewayv1.Gateway](),
	"HTTPRoute":                reflect.TypeFor[gatewayv1.HTTPRoute](),
	"GRPCRoute":                reflect.TypeFor[gatewayv1.GRPCRoute](),
	"ListenerSet":              reflect.TypeFor[gatewayv1.ListenerSet](),
	"BackendTLSPolicy":         reflect.TypeFor[gatewayv1.BackendTLSPolicy](),
	"TLSRoute":                 reflect.TypeFor[gatewayv1.TLSRoute](),
	"TCPRoute":                 reflect.TypeFor[gatewayv1.TCPRoute](),
	"UDPRoute":                 reflect.TypeFor[gatewayv1.UDPRoute](),
	"ReferenceGrant":           reflect.TypeFor[gatewayv1.ReferenceGrant](),
	"Secret":                   reflect.TypeFor[corev1.Secret](),
	"Service":                  reflect.TypeFor[corev1.Service](),
	"HTTPProxy":                reflect.TypeFor[contourapi.HTTPProxy](),
	"ExtensionService":         reflect.TypeFor[contourapi.ExtensionService](),
	"LoadBalancerPolicy":       reflect.TypeFor[v1alpha1.LoadBalancerPolicy](),
	"XBackendTrafficPolicy":    reflect.TypeFor[gatewayxv1alpha1.XBackendTrafficPolicy](),
	"SessionPersistencePolicy": reflect.TypeFor[v1alpha1.SessionPersistencePolicy](),
	"XBackend":                 reflect.TypeFor[XBackend](),
	"EndpointSlice":            reflect.TypeFor[discoveryv1.EndpointSlice](),
}

// bothShapes is sessionPersistence in every shape that it has had (S17, S21).
type bothShapes struct {
	gatewayv1.SessionPersistence
	IdleTimeout string `json:"idleTimeout"`
	Cookie      struct {
		Name         string `json:"name"`
		Path         string `json:"path"`
		LifetimeType string `json:"lifetimeType"`
	} `json:"cookie"`
	Header struct {
		Name string `json:"name"`
	} `json:"header"`
}

func sessionPathOf(kind string) string {
	for _, k := range registry {
		if k.Kind == kind && k.sessionPath != "" {
			return k.sessionPath
		}
	}
	return ""
}

// fieldsOf gives every field of a kind.
func fieldsOf(kind string) map[string]any {
	leaves := leavesOf(goTypes[kind], "")
	if at := sessionPathOf(kind); at != "" {
		maps.DeleteFunc(leaves, func(path string, _ any) bool { return strings.HasPrefix(path, at) })
		maps.Copy(leaves, leavesOf(reflect.TypeFor[bothShapes](), at))
	}
	return leaves
}

// TestEveryFieldIsSupportedOrRefused sets each field of the API's types by itself: one that the table does not name
// must be refused, at its own path or one that encloses it.
func TestEveryFieldIsSupportedOrRefused(t *testing.T) {
	for kind := range goTypes {
		leaves := fieldsOf(kind)
		if len(leaves) < 4 {
			t.Errorf("%s: only %d fields found", kind, len(leaves))
		}
		for path, value := range leaves {
			named := tableHas(kind, path)
			refused := findUnsupported(kind, newDocument(path, value))
			switch {
			case named && len(SupportedFields()[kind][path].Only) == 0 && len(refused) > 0:
				t.Errorf("%s %s is in the table and yet refused: %v", kind, path, refused)
			case !named && len(refused) != 1:
				t.Errorf("%s %s is neither supported nor refused: %v", kind, path, refused)
			case !named && !strings.HasPrefix(path, withoutIndices(refused[0].Path)):
				t.Errorf("%s %s is refused at %s", kind, path, refused[0].Path)
			}
		}
	}
}

// TestSupportedFieldsExist catches a path of the table that no type has.
func TestSupportedFieldsExist(t *testing.T) {
	for kind, table := range SupportedFields() {
		leaves := fieldsOf(kind)
		for path := range table {
			found := false
			for leaf := range leaves {
				found = found || leaf == path || strings.HasPrefix(leaf, path+".") || strings.HasPrefix(leaf, path+"[")
			}
			if !found {
				t.Errorf("%s has no field %s", kind, path)
			}
		}
	}
}

// TestOnlySomeValuesAreSupported shows that a field with a list of values is refused with another.
func TestOnlySomeValuesAreSupported(t *testing.T) {
	for kind, table := range SupportedFields() {
		for path, support := range table {
			if len(support.Only) == 0 {
				continue
			}
			if left := findUnsupported(kind, newDocument(path, support.Only[0])); len(left) > 0 {
				t.Errorf("%s %s: %v is refused", kind, path, support.Only[0])
			}
			if left := findUnsupported(kind, newDocument(path, "another value")); len(left) != 1 || left[0].Message != `not supported: "another value"` {
				t.Errorf("%s %s: another value is not refused: %v", kind, path, left)
			}
		}
	}
}

// tableHas reports whether the table names a field or one that encloses it.
func tableHas(kind, path string) bool {
	for named := range SupportedFields()[kind] {
		if path == named || strings.HasPrefix(path, named+".") || strings.HasPrefix(path, named+"[") {
			return true
		}
	}
	return false
}

// leavesOf gives the paths of all fields below a type that hold a value and not just further fields, each with a
// value of its kind. Metadata and status are left out: they are the same for all, and read or dropped as a whole.
func leavesOf(typ reflect.Type, path string) map[string]any {
	leaves := map[string]any{}
	collectLeaves(typ, path, leaves)
	return leaves
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func collectLeaves(typ reflect.Type, path string, leaves map[string]any) {
	switch {
	case typ.Kind() == reflect.Pointer:
		collectLeaves(typ.Elem(), path, leaves)
	case typ.Implements(marshaler) || reflect.PointerTo(typ).Implements(marshaler):
		leaves[path] = "text"
	case typ.Kind() == reflect.Struct:
		for i := range typ.NumField() {
			collectField(typ.Field(i), path, leaves)
		}
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
		collectLeaves(typ.Elem(), path+"[]", leaves)
	case typ.Kind() == reflect.Map:
		leaves[path] = map[string]any{"key": "value"}
	case typ.Kind() == reflect.Bool:
		leaves[path] = true
	case typ.Kind() == reflect.String:
		leaves[path] = "text"
	default:
		leaves[path] = int64(1)
	}
}

func collectField(f reflect.StructField, path string, leaves map[string]any) {
	if f.Tag.Get("json") == "-" {
		return // not the document's
	}
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case strings.Contains(options, "inline") || name == "" && f.Anonymous:
		collectLeaves(f.Type, path, leaves)
	case path == "" && (name == "metadata" || name == "status" || name == "apiVersion" || name == "kind"):
	default:
		collectLeaves(f.Type, joinPath(path, name), leaves)
	}
}

// newDocument is one with a single field set.
func newDocument(path string, value any) map[string]any {
	steps := strings.Split(path, ".")
	for i := len(steps) - 1; i >= 0; i-- {
		name, isList := strings.CutSuffix(steps[i], "[]")
		if isList {
			value = []any{value}
		}
		value = map[string]any{name: value}
	}
	return value.(map[string]any)
}

func withoutIndices(path string) string { return strings.ReplaceAll(path, "[0]", "[]") }
