package e2e

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestReliabilityNamesRealTests: each row of docs/reliability.md is another scenario and names a test of this folder, or of kubernetes.
// The other way round, harness.RecordResult fails a scenario that has no row.
func TestReliabilityNamesRealTests(t *testing.T) {
	t.Parallel()
	rows, seen := harness.DocumentedResults(t), map[string]bool{}
	for _, row := range rows {
		if seen[row[0]] {
			t.Errorf("scenario %q has several rows", row[0])
		}
		seen[row[0]] = true
		err := (proof{"e2e", row[1]}).checkProof(harness.Root(t))
		if err != nil {
			err = (proof{"e2e/kubernetes", row[1]}).checkProof(harness.Root(t))
		}
		if err != nil {
			t.Errorf("scenario %q: %v", row[0], err)
		}
	}
	if len(rows) < 20 {
		t.Errorf("only %d scenarios", len(rows))
	}
}
