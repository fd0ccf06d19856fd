package policyconfig

import (
	"go/build"
	"slices"
	"testing"
)

// The package as TinyGo builds it imports nothing else: what is added here is added to limpet.wasm.
func TestImports(t *testing.T) {
	allowed := []string{"encoding/base64", "errors", "fmt", "github.com/tidwall/gjson", "net/netip", "strconv", "strings", "unicode/utf8"}
	ctx := build.Default
	ctx.BuildTags = []string{"tinygo"}
	p, err := ctx.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Imports, allowed) {
		t.Errorf("got %q, want %q", p.Imports, allowed)
	}
}
