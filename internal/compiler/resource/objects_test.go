package resource

import (
	"reflect"
	"testing"
)

// TestAddTakesEveryKind adds objects with one of each kind to none.
func TestAddTakesEveryKind(t *testing.T) {
	var one, sum part
	v := reflect.ValueOf(&one.Objects).Elem()
	isList := func(i int) bool {
		t := v.Type().Field(i).Type
		return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Pointer
	}
	for i := range v.NumField() {
		if isList(i) {
			v.Field(i).Set(reflect.MakeSlice(v.Field(i).Type(), 1, 1))
		}
	}
	one.in = (1<<len(lists) - 1)
	if filled := one.in.filled(&one.Objects); filled != one.in {
		t.Errorf("the lists with an object are %b, want %b", filled, one.in)
	}
	sum.addAll(&one)
	for i := range v.NumField() {
		if isList(i) && reflect.ValueOf(sum.Objects).Field(i).Len() != 1 {
			t.Errorf("%s has not the one object that was added", v.Type().Field(i).Name)
		}
	}
}
