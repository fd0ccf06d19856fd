package resource

import (
	"reflect"
	"testing"
)

// TestAddTakesEveryKind adds objects with one of each kind to none.
func TestAddTakesEveryKind(t *testing.T) {
	var one, sum Objects
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		v.Field(i).Set(reflect.MakeSlice(v.Field(i).Type(), 1, 1))
	}
	sum.addAll(&one)
	for i := range v.NumField() {
		if got := reflect.ValueOf(sum).Field(i).Len(); got != 1 {
			t.Errorf("%s has %d objects after one was added", v.Type().Field(i).Name, got)
		}
	}
}
