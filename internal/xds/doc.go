// Package xds serves configurations to Envoys over delta ADS, make before break: to each client clusters, endpoints,
// secrets and filter configuration first, routes when those are acknowledged, then listeners, then removals.
//
// A [Server] has the latest [Snapshot] of each Gateway. Each connection has a client (client.go), a state machine
// without input or output: it takes requests and snapshots, and says what is to be sent next. It looks at nothing but
// what its Envoy has acknowledged and what it ought to have, so that an Envoy that comes back, was rejected something,
// or has missed ten changes is a case like any other. A client that does not answer holds up no other: each has a
// goroutine of its own, and what changes meanwhile is one change when it answers.
//
// Of thousands of resources a change touches a few. A snapshot knows which names it has changed, [Server.Set] puts
// these into an inbox of each client, and a client looks at no others: its set of dirty names has all of which its
// Envoy may not have what it ought to, and a name leaves it when the Envoy has acknowledged that.
package xds
