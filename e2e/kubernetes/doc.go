// Package kubernetes tests "limpet serve" on a real API server with real Envoys. The tests run in a network namespace
// of their own, in which every address of pods is local: no API server takes a loopback address for a pod's.
package kubernetes
