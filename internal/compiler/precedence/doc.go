// Package precedence decides which session persistence is effective for a rule, and what becomes of every document's
// wishes: the precedence of docs/semantics.md, whose rules S2, S5 to S16 and S17 to S21 it is (comments name them by number).
//
// Sources become blocks: [ListTargets] and [PolicyBlocks] for a SessionPersistencePolicy, [sessionapi.ReadInline] for what is
// written inline. An [Index] keeps them by what they attach to and gives those on a [TrafficPath] that requests take.
// [Merge] makes one [Effective] of them: each field's value, where it is written and what it beats, what is left
// out and why, and who is in whose way. [Effective.BuildPolicy] turns that into the plugin's configuration.
//
// The package is pure: no input, no output, no clock. What depends on a rule's identity or its matches (scope,
// generated names, computed cookie paths) is its caller's.
package precedence
