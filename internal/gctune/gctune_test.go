package gctune

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestForInput sets the limit for an input, and leaves it alone where the environment says what Go shall do.
func TestForInput(t *testing.T) {
	for _, c := range []struct {
		variable, value string
		size            int
		want            int64
	}{
		{"GOGC", "", 0, leastLimit},
		{"GOGC", "", leastLimit / limitPerByte, leastLimit},
		{"GOGC", "", 100 << 20, 100 << 20 * limitPerByte},
		{"GOGC", "100", 100 << 20, math.MaxInt64},
		{"GOMEMLIMIT", "1GiB", 100 << 20, math.MaxInt64},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			t.Setenv("GOGC", "")
			t.Setenv("GOMEMLIMIT", "")
			t.Setenv(c.variable, c.value)
			before := debug.SetMemoryLimit(math.MaxInt64)
			t.Cleanup(func() { debug.SetMemoryLimit(before) })
			ForInput(c.size)
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("%d bytes: the limit is %d, want %d", c.size, got, c.want)
			}
		})
	}
}
