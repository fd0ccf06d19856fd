package main

import "testing"

// TestMutationsFit wants every mutation to be of code that is there, so that none is lost when that code changes.
func TestMutationsFit(t *testing.T) {
	t.Chdir("../..")
	names := map[string]bool{}
	for _, m := range mutations {
		if _, err := m.apply(); err != nil || names[m.name] {
			t.Errorf("%s: %v, there twice: %t", m.name, err, names[m.name])
		}
		names[m.name] = true
	}
}
