package install

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// role says what this program is besides the tests: the backend of docs/install.md.
const (
	role        = "LIMPET_E2E_ROLE"
	backendRole = "backend"
)

func TestMain(m *testing.M) {
	if os.Getenv(role) == backendRole {
		fmt.Fprintln(os.Stderr, "backend:", serveBackend())
		os.Exit(1)
	}
	standin.Main("e2e/install", m.Run)
}

// serveBackend answers each request with the Pod's name.
func serveBackend() error {
	return http.ListenAndServe(":3000", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, os.Getenv("POD_NAME")) }))
}
