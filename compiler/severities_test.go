package compiler

import (
	"maps"
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// apart are the codes whose faults differ in what becomes of the object: some leave a part of it out, and others do not.
var apart = []report.Code{
	report.CertificateNotUsable, report.ParentRefused, report.RouteRefused, report.HostTaken, report.HeaderMatch,
	report.PolicyOverridden, report.Revocation, report.BalancingNotHonoured, report.RetryNotHonoured, report.BackendTLS,
	report.NativePin,
}

// TestOneSeverityForACode: but for those, a code is an error, a warning or advice, whatever the target.
func TestOneSeverityForACode(t *testing.T) {
	seen := map[report.Code]map[Verdict]string{}
	for _, g := range loadGoldens(t) {
		result, err := Check([]Source{g.source}, g.parseOptions(t))
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		for _, r := range result.Rows {
			if seen[r.Code] == nil {
				seen[r.Code] = map[Verdict]string{}
			}
			seen[r.Code][r.Verdict] = g.name + ": " + r.Message
		}
	}
	delete(seen, "") // what is accepted
	for _, code := range slices.Sorted(maps.Keys(seen)) {
		if differs := len(seen[code]) > 1; differs != slices.Contains(apart, code) {
			t.Errorf("%s: %v", code, seen[code])
		}
	}
}
