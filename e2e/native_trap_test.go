package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestNativeTrap: a check of the module's that fails ends Envoy by SIGILL, with the requests that it has; limpet says so and ends with it.
// It is provoked in a build of its own, for no input is known to reach one.
func TestNativeTrap(t *testing.T) {
	if !harness.Native() {
		t.Skip("runs with the native filter's tests: make e2e-native")
	}
	t.Parallel()
	documents := harness.OneRoute(harness.Backends(t, "a"), harness.CookieRule("cart", "pods"))
	documents.Port = harness.FreePort(t)
	path := filepath.Join(t.TempDir(), "documents.yaml")
	if err := os.WriteFile(path, []byte(documents.YAML(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	answered := make(chan bool)
	go func() { answered <- isAnswered("http://" + harness.Loopback(documents.Port) + "/cart") }()
	module := filepath.Join(harness.Find(t).Root, "dist", "native", "trapping", "liblimpet.so")
	code, _, stderr := harness.Limpet(t, nil, "run", "-f", path, "--bind", "127.0.0.1", "--admin", "none", "--filter-path", module)
	const signalled, illegal = 128, 4
	if code != signalled+illegal || !strings.Contains(stderr, "Envoy was ended by a signal: illegal instruction") ||
		!strings.Contains(stderr, "Caught Illegal instruction") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if <-answered {
		t.Error("the request was answered")
	}
}

// isAnswered asks until there is a connection, and tells whether there is an answer.
func isAnswered(url string) bool {
	for range 1000 {
		response, err := http.Get(url)
		if err == nil {
			_ = response.Body.Close()
			return true
		}
		if !strings.Contains(err.Error(), "refused") {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
