package compiler

import (
	"errors"
	"testing"
)

// FuzzCompile compiles anything: it must not panic, and an input is either compiled or refused as such, the same
// way twice. Any other error would be a fault of the compiler.
func FuzzCompile(f *testing.F) {
	for _, g := range loadGoldens(f) {
		f.Add(g.source.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		sources := []Source{{Name: "fuzz.yaml", Data: data}}
		result, err := Compile(sources, Options{Envoy: &EnvoyOptions{ModulePath: "w"}})
		again, errAgain := Compile(sources, Options{Envoy: &EnvoyOptions{ModulePath: "w"}})
		var problems Errors
		switch {
		case err != nil && !errors.As(err, &problems):
			t.Fatal(err)
		case err != nil && (errAgain == nil || err.Error() != errAgain.Error()):
			t.Fatalf("two errors:\n%v\n%v", err, errAgain)
		case err == nil && (errAgain != nil || string(result.Main()) != string(again.Main())):
			t.Fatal("two results")
		}
	})
}
