// Package install tests what people install: the chart, the manifests that are made from it, and docs/install.md, on a
// real API server.
package install
