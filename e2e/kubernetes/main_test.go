package kubernetes

import (
	"fmt"
	"os"
	"testing"

	standin "github.com/limpet-proxy/limpet/e2e/internal/cluster"
	"github.com/limpet-proxy/limpet/e2e/internal/harness"
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
