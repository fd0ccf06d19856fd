//go:build tools

// Package tinygo pins the TinyGo compiler that builds limpet.wasm.
package tinygo

import _ "github.com/tinygo-org/tinygo"
