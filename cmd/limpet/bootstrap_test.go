package main

import (
	"strings"
	"testing"
)

// TestBootstrapNamesGateways: what names no Gateway is refused, and so stands in no bootstrap: a name with a line of its own does not.
func TestBootstrapNamesGateways(t *testing.T) {
	for _, name := range []string{"a/b\nadmin: {}", "a/b\r", "a/b\x00", "a\n/b", "a/b: c", "a", "a/", "/b", "a/b/c", "A/b", `a/"b"`} {
		var out strings.Builder
		c := newBootstrap()
		c.SetOut(&out)
		c.SetErr(&out)
		c.SetArgs([]string{"--gateway=" + name})
		if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "must name a Gateway, as NAMESPACE/NAME") {
			t.Errorf("%q: error %v\n%s", name, err, out.String())
		}
	}
}
