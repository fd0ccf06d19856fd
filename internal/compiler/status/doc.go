// Package status says what became of every object that was read, as Gateway API and GEP-713 define it: the conditions
// of GatewayClasses and Gateways, a route's parents, a policy's ancestors (docs/semantics.md, S59 to S64; comments name
// the rules). It decides nothing: it puts into the API's words what other packages have found.
//
// What stands in an object's status already is kept where it is not limpet's: entries of other controllers, conditions
// of types that limpet does not write, and the transition time of a condition whose status is as it was.
package status
