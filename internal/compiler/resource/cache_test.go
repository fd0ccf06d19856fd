package resource

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// TestOptionsEqual changes every field of the options: documents are not admitted alike under others.
func TestOptionsEqual(t *testing.T) {
	for i := range reflect.TypeFor[Options]().NumField() {
		var o Options
		field := reflect.ValueOf(&o).Elem().Field(i)
		switch field.Interface().(type) {
		case bool:
			field.SetBool(true)
		case string:
			field.SetString("a")
		case sessionapi.APIRelease:
			field.Set(reflect.ValueOf(sessionapi.Release17))
		case []schema.GroupVersionKind:
			field.Set(reflect.ValueOf([]schema.GroupVersionKind{{Kind: "A"}}))
		default:
			t.Fatalf("a field of another type: %s", field.Type())
		}
		same := o
		if o.equal(&Options{}) || (&Options{}).equal(&o) || !o.equal(&same) {
			t.Errorf("%s is not compared", reflect.TypeFor[Options]().Field(i).Name)
		}
	}
}
