// Package istio holds the end-to-end tests of 'limpet compile -t istio': the shipped command writes the resources,
// Istio's own discovery server translates them, and a real Envoy with the shipped limpet.wasm takes what comes of it
// over ADS. It is a module of its own, for Istio's packages are many; nothing of limpet is imported.
//
// Its environment: ENVOY is the path of an Envoy with wasm, and bin/limpet and dist/limpet.wasm are built.
package istio
