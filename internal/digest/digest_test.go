package digest

import (
	"strings"
	"testing"
)

func TestIsHex(t *testing.T) {
	const good = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for text, want := range map[string]bool{
		good:                        true,
		strings.ToUpper(good):       false,
		good[1:]:                    false,
		good + "0":                  false,
		good[1:] + "g":              false,
		good[:31] + " " + good[32:]: false,
		good[1:] + "\n":             false,
		"":                          false,
	} {
		if got := IsHex(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := OfBytes(nil); got != good {
		t.Errorf("of no bytes: %s, want %s", got, good)
	}
}

func TestFromReference(t *testing.T) {
	for reference, want := range map[string]string{
		"oci://ghcr.io/example/limpet@sha256:abc":    "abc",
		"oci://ghcr.io/example/limpet:v1@sha256:abc": "abc",
		"oci://ghcr.io/example/limpet@sha256:":       "",
	} {
		if got, pinned := FromReference(reference); got != want || !pinned {
			t.Errorf("%s: %q, pinned %v; want %q", reference, got, pinned, want)
		}
	}
	if got, pinned := FromReference("oci://ghcr.io/example/limpet:v1"); got != "" || pinned {
		t.Errorf("a tag pins %q", got)
	}
}
