package controller

import (
	"context"
	"reflect"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Input is all that a compilation reads.
type Input struct {
	Keys policyconfig.Keys
	// Ring is the ring of these keys, be it sealed there or not; none where Envoys have their own.
	Ring policyconfig.KeyRing
	// Scopes, if there is something, has Gateways get their part of the keys in place of these.
	Scopes *compiler.ScopeKeys
	// Fingerprints are those of the keys.
	Fingerprints keyfile.Fingerprints
	Sources      read.List
	// Nodes are the machines of the cluster that the sources are of; nil where they are not known.
	Nodes *compiler.Nodes
}

// equal tells whether two are the same.
func (in *Input) equal(other *Input) bool {
	set, gone := read.Diff(in.Sources, other.Sources)
	return len(set)+len(gone) == 0 && reflect.DeepEqual(in.Keys, other.Keys) &&
		reflect.DeepEqual(in.Scopes, other.Scopes) && in.Nodes == other.Nodes
}

// Changes tells when the input changes.
type Changes interface {
	// Next waits for a change to what it told of last, and gives the time of the first sign of it; false when ctx ends or
	// a time that is not zero has come.
	Next(ctx context.Context, until time.Time) (since time.Time, changed bool)
}
