//go:build limpet.sharded

package envoy

// fewest is none in the limpet with which "make e2e-shards" runs the end-to-end tests, whose routes are few.
const fewest = 0
