//go:build !limpet.sharded

package envoy

const fewest = 128
