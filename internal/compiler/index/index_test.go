package index

import (
	"fmt"
	"testing"
)

// TestSets adds and removes members, and wants no key to stay without any.
func TestSets(t *testing.T) {
	s := Sets[string, int]{}
	for _, step := range []struct {
		key     string
		member  int
		present bool
		want    string
	}{
		{"a", 1, false, "map[]"},
		{"a", 1, true, "map[a:map[1:true]]"},
		{"a", 1, true, "map[a:map[1:true]]"},
		{"a", 2, true, "map[a:map[1:true 2:true]]"},
		{"b", 1, true, "map[a:map[1:true 2:true] b:map[1:true]]"},
		{"a", 1, false, "map[a:map[2:true] b:map[1:true]]"},
		{"a", 2, false, "map[b:map[1:true]]"},
		{"b", 3, false, "map[b:map[1:true]]"},
	} {
		s.Set(step.key, step.member, step.present)
		if got := fmt.Sprint(s); got != step.want {
			t.Errorf("%s %d %t: %s, want %s", step.key, step.member, step.present, got, step.want)
		}
	}
}
