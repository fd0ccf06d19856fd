package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestMain prints the figures of the scenarios that ran, after the last test. It may also be the start of a process
// of backends.
func TestMain(m *testing.M) {
	harness.ServeHosts()
	code := m.Run()
	if err := harness.WriteResults(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
