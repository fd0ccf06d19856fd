package compiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// defectTests are those that reading other products has found and that concern a compiler, and the golden cases that
// show that limpet does not have them. Those of tokens (HAProxy's hash and dates, nginx's digest and its Set-Cookie
// on every response) are tests of the token and the filter.
var defectTests = map[string][]string{
	"Istio: header sessions lose draining endpoints, cookie sessions don't":    {"policy-2A.27-draining"},
	"Istio: a later Service of a split takes the earlier one's session away":   {"policy-1b-weighted-loop"},
	"Envoy Gateway: no override_host_status, so sessions leave draining hosts": {"policy-2A.27-draining"},
	"Envoy Gateway: a backend of weight 0 is skipped, and its sessions break":  {"policy-2B.O3-weight-zero"},
	"Envoy Gateway: absoluteTimeout has no effect for Session and for Header":  {"policy-2A.19-permanent"},
	"Envoy: strict does not survive a retry":                                   {"policy-2A.28-fail", "policy-S40-fail-split-17"},
	"Envoy: the override_host policy sends to unhealthy and draining hosts":    {}, // see TestDefectsHaveCases
}

// TestDefectsHaveCases holds that each defect has a golden case that says so, and that no golden output has Envoy's
// override_host policy, which is the defect that a compiler need not fall into.
func TestDefectsHaveCases(t *testing.T) {
	for defect, cases := range defectTests {
		for _, name := range cases {
			text, err := os.ReadFile(filepath.Join("testdata", name+".in.yaml"))
			first, _, _ := strings.Cut(string(text), "\n")
			if err != nil || !strings.Contains(first, "1b") {
				t.Errorf("%s: %s does not say that it is about it: %s (%v)", defect, name, first, err)
			}
		}
	}
	outputs, err := filepath.Glob(filepath.Join("testdata", "*.envoy.yaml"))
	if err != nil || len(outputs) < 100 {
		t.Fatalf("%d outputs, %v", len(outputs), err)
	}
	for _, file := range outputs {
		text, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(text), "load_balancing_policies.override_host") {
			t.Errorf("%s: %v, or it has Envoy's override_host policy", file, err)
		}
	}
}
