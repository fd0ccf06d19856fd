package kubernetes

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLook: a look gives way to what is urgent, but never for good, and what it has waited need not be rested.
func TestLook(t *testing.T) {
	const part, parts = 10 * time.Millisecond, 20
	// busy says for how much of each second there is something urgent.
	look := func(busy time.Duration) (took, rest time.Duration) {
		begun := time.Now()
		l := beginLook(func() bool { return time.Since(begun)%time.Second < busy })
		for range parts {
			time.Sleep(part)
			l.pause()
		}
		return time.Since(begun), l.rest()
	}
	for _, c := range []struct {
		name             string
		busy, took, rest time.Duration
	}{
		{"nothing is urgent", 0, 200 * time.Millisecond, time.Second},
		{"something is, for a while", 30 * time.Millisecond, 220 * time.Millisecond, 980 * time.Millisecond},
		{"something is all the time", time.Second, time.Second, 200 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if took, rest := look(c.busy); took != c.took || rest != c.rest {
					t.Errorf("it took %v and rests %v, and not %v and %v", took, rest, c.took, c.rest)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := beginLook(nil)
		time.Sleep(part)
		if l.pause(); l.rest() != lookRest*part {
			t.Errorf("without anything urgent it rests %v", l.rest())
		}
	})
}
