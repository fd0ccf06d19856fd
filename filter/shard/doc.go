// Package shard is a small dynamic module of Envoy, limpet-shard.so (folder c), that says before routing in which part of its site's routes a
// request's host is: so Envoy can have a table for each part. It works beside either filter.
package shard
