package session

import (
	"go/build"
	"slices"
	"testing"
)

// TestNothingCallsFmt: fmt keeps the memory of one call for the next, and the native module frees at once what a
// configuration allocated. (Package policyconfig names fmt.State in a method that nothing calls there.)
func TestNothingCallsFmt(t *testing.T) {
	for _, folder := range []string{".", "../../../token"} {
		p, err := build.ImportDir(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(p.Imports, "fmt") {
			t.Errorf("%s imports fmt", folder)
		}
	}
}
