// Package host is the only one that speaks proxy-wasm. It hands the plugin configuration, requests and responses to
// package session and carries out what that decides. It makes the host calls itself and exports the few callbacks that
// it needs: an SDK's layer in between allocated for every call (docs/performance.md).
package host
