package session

import (
	"strings"
	"testing"
)

// Every byte counts, wherever it is.
func TestEqual(t *testing.T) {
	long := strings.Repeat("0123456789abcdef~", 2)
	for size := range len(long) {
		a := long[:size]
		if !equal(a, strings.Clone(a)) || equal(a, long[:size+1]) || equal(long[:size+1], a) {
			t.Errorf("%q", a)
		}
		for i := range size {
			for bit := range 8 {
				b := []byte(a)
				b[i] ^= 1 << bit
				if equal(a, string(b)) || equal(string(b), a) {
					t.Errorf("%q and %q", a, b)
				}
			}
		}
	}
}
