// Package schema turns documents into typed objects: the kinds of Gateway API through package admission, Services
// and EndpointSlices through rules of the same effect as an API server's. What an API server admits and limpet does
// not carry yet is refused by name, never passed over.
package resource
