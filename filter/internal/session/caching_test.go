package session

import (
	"strings"
	"testing"
)

func TestPrivately(t *testing.T) {
	for control, want := range map[string]string{
		"":                                "private",
		"public, max-age=60":              "private, max-age=60",
		"Max-Age=60,Public":               "private, Max-Age=60",
		"no-cache":                        "private, no-cache",
		"private":                         "private",
		" , ,\t,":                         "private",
		"s-maxage=5, proxy-revalidate":    "private",
		"no-store,  must-revalidate ,x=y": "private, no-store, must-revalidate, x=y",
	} {
		if got := privately(control); got != want {
			t.Errorf("%q became %q, want %q", control, got, want)
		}
	}
}

// TestPrivatelyIsLinear: the backend chooses how many directives there are, and a worker serves no other request meanwhile.
func TestPrivatelyIsLinear(t *testing.T) {
	control := strings.Repeat("a,", 10_000)
	if allocations := testing.AllocsPerRun(10, func() { privately(control) }); allocations > 10 {
		t.Errorf("10,000 directives cost %.0f allocations", allocations)
	}
}
