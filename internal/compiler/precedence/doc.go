// Package precedence decides which session persistence is effective for a rule, and what becomes of all that documents
// ask for: the precedence of docs/semantics.md, whose rules S2, S5 to S16 and S17 to S21 it is (comments name them by
// number).
//
// Sources become blocks: [ListTargets] and [PolicyBlocks] for a SessionPersistencePolicy, [sessionapi.ReadInline] for
// what is written inline. An [Index] keeps them by what they attach to and gives those on a [TrafficPath] that requests
// take. [Merge] makes one [Effective] of them: each field's value, where it is written and what it overrides, what is
// ignored and why, and which objects are in conflict. [Effective.BuildPolicy] turns that into the plugin's
// configuration.
//
// The package is pure: no input, no output, no clock. What depends on a rule's identity or its matches (scope,
// generated names, computed cookie paths) is its caller's.
package precedence
