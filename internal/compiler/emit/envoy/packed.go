package envoy

import (
	"bytes"
	"slices"
)

// Packed is a resource in the bytes in which a server sends it.
type Packed struct {
	Name    string
	Content []byte
	// Clusters are those that routes lead to, in order.
	Clusters []string
	// Moved are hosts among endpoints that were another pod's, in order: the address, a space and the pod's uid. Proxies
	// that may not know of them get the endpoints without.
	Moved []string
	// Sharded is the form of a listener for Envoys that have a table for each shard.
	Sharded []byte
	// After is the table that an Envoy has before a scope leads there; empty for none.
	After string
	// Version tells whether Content has changed that is not put together before somebody asks for Bytes; empty where it is
	// there.
	Version string
	table   *hostTable // nil for another resource, or where its hosts are not known
}

// Equal tells whether two are the same to those who are served them.
func (p *Packed) Equal(other *Packed) bool {
	return p == other || bytes.Equal(p.Content, other.Content) && bytes.Equal(p.Sharded, other.Sharded) &&
		p.After == other.After && p.Version == other.Version && slices.Equal(p.Moved, other.Moved)
}
