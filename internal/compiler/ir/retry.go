package ir

import "time"

// DefaultAttempts is how often at most a request is tried again where its rule does not say it.
const DefaultAttempts = 3

// Retry is what a rule's owner says of requests that fail: those that break off, and those whose try takes too long,
// are tried again on another host.
type Retry struct {
	// On are Envoy's conditions of what is tried again, in place of that; nil for it.
	On []string
	// Codes are statuses, in order, that count as failures too.
	Codes []int
	// Attempts is how often at most, 0 for never; nil for [DefaultAttempts].
	Attempts *uint32
	// Backoff is about how long to wait before, 0 for not at all; nil leaves it to the proxy.
	Backoff *time.Duration
}
