package kubernetes

import (
	"testing"
	"time"
)

// TestStatusRetries: when an API server comes back that was away for long, it gets the status of an object soon, of thousands within minutes.
func TestStatusRetries(t *testing.T) {
	one := newStatusLimiter()
	for range 100 {
		if wait := one.When(statusKey{name: "one"}); wait > lastRetry {
			t.Fatalf("one is tried again after %v", wait)
		}
	}
	many, longest := newStatusLimiter(), time.Duration(0)
	for i := range 5000 {
		longest = max(longest, many.When(statusKey{namespace: "shop", name: string(rune('a' + i))}))
	}
	if longest > 2*time.Minute {
		t.Errorf("the last of 5,000 is tried again after %v", longest)
	}
}
