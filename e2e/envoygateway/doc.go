// Package envoygateway runs Envoy Gateway itself, with its file provider and without Kubernetes, on what the shipped
// limpet writes for it, and a real Envoy under it. It is a module of its own, for Envoy Gateway's dependencies are many
// and users' tests do not need them: "make e2e-envoy-gateway".
package envoygateway
