package harness

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// SkewedClock is the environment in which an Envoy's wall clock is ahead by so much, or behind. It needs a C compiler.
func SkewedClock(t testing.TB, by time.Duration) []string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		Missing(t, "no C compiler named cc, which a skewed clock needs")
	}
	library := filepath.Join(t.TempDir(), "clockskew.so")
	source := filepath.Join(Root(t), "e2e", "testdata", "clockskew.c")
	if output, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", library,
		source).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, output)
	}
	return []string{"LD_PRELOAD=" + library, fmt.Sprintf("LIMPET_E2E_SKEW=%d", int(by.Seconds()))}
}
