// Package schema admits documents as an API server would, and gives them their Go types: the kinds of Gateway API
// through the released CRDs' own schemas and CEL rules, Services and EndpointSlices through rules of the same
// effect. What an API server admits and limpet does not carry yet is refused by name, never passed over.
package schema
