package kubernetes

import (
	"fmt"
	"os"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

func TestMain(m *testing.M) {
	standin.Main("e2e/kubernetes", func() int {
		code := m.Run()
		controlPlane.stop()
		if err := harness.WriteResults(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		return code
	})
}
