package kubernetes

import (
	"context"
	"time"
)

// loop does some work again whenever it is woken, until ctx ends: not before a rest has passed, and without being woken
// after retry where the work says that it is not done.
func loop(ctx context.Context, woken <-chan struct{}, rest, retry time.Duration, work func() (done bool)) {
	for ctx.Err() == nil {
		var again <-chan time.Time
		if !work() {
			again = time.After(retry)
		}
		select {
		case <-ctx.Done():
		case <-woken:
		case <-again:
		}
		pause(ctx, rest)
	}
}

// pause waits, not longer than ctx goes on.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
