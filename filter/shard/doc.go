// Package shard is a small dynamic module of Envoy, limpet-shard.so (folder c), that writes the shard of a request's
// host before routing.
package shard
