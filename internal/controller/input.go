package controller

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
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
	Sources      []compiler.Source
	// Nodes are the machines of the cluster that the sources are of; nil where they are not known.
	Nodes *compiler.Nodes
}

// equal tells whether two are the same.
func (in *Input) equal(other *Input) bool {
	return slices.EqualFunc(in.Sources, other.Sources, func(a, b compiler.Source) bool {
		return a.Name == b.Name && sameBytes(a.Data, b.Data)
	}) && reflect.DeepEqual(in.Keys, other.Keys) && reflect.DeepEqual(in.Scopes, other.Scopes) && in.Nodes == other.Nodes
}

// sameBytes compares contents, which mostly are the same slice.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}

// Changes tells when the input changes.
type Changes interface {
	// Next waits for a change to what it told of last, and gives the time of the first sign of it; false when ctx ends or
	// a time that is not zero has come.
	Next(ctx context.Context, until time.Time) (since time.Time, changed bool)
}
