package e2e

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/harness"
)

// TestReliabilityNamesRealTests: each row of docs/reliability.md names a test of this folder. The other way round,
// harness.Figures fails a scenario that has no row.
func TestReliabilityNamesRealTests(t *testing.T) {
	t.Parallel()
	rows := harness.DocumentedFigures(t)
	for _, row := range rows {
		if err := (proof{"e2e", row[1]}).check(harness.Root(t)); err != nil {
			t.Errorf("scenario %q: %v", row[0], err)
		}
	}
	if len(rows) < 1 {
		t.Errorf("only %d scenarios", len(rows))
	}
}
