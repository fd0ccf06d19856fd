package kubernetes

import (
	"context"
	"time"
)

// loop does some work again whenever it is woken, until ctx ends: not before a pause has passed, and without being woken after retry where
// the work says that it is not done.
func loop(ctx context.Context, woken <-chan struct{}, pause, retry time.Duration, work func() (done bool)) {
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
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
