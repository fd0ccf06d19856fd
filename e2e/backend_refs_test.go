package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestMissingService: a backendRef to a Service that does not exist gets its share of the traffic answered 500, the
// rest compiles, and limpet says which object, where and why.
//
// requirements: 2A.26, S35
func TestMissingService(t *testing.T) {
	t.Parallel()
	split := harness.CookieRule("split", "")
	split.Refs = []harness.Ref{{Service: "pods", Weight: 50}, {Service: "missing", Weight: 50}}
	_, deployment := threePods(t, split, harness.CookieRule("broken", "missing"), harness.PlainRule("plain-broken", "missing"),
		harness.CookieRule("whole", "pods"))
	envoy := harness.Run(t, deployment)

	for _, want := range []string{"HTTPRoute default/app", "spec.rules[0].backendRefs[1]", "spec.rules[1].backendRefs[0]", "missing"} {
		if !strings.Contains(envoy.Output, want) {
			t.Errorf("limpet's output lacks %q:\n%s", want, envoy.Output)
		}
	}
	for _, path := range []string{"/broken", "/plain-broken"} {
		response := envoy.Stranger().Get(t, path)
		wantStatus(t, response, http.StatusInternalServerError)
		if len(response.Header["Set-Cookie"]) > 0 {
			t.Errorf("%s: an answer without a backend sets %q", path, response.Header["Set-Cookie"])
		}
	}
	stay(t, envoy.Client(), "/whole", 10)
	checkHalfBroken(t, envoy)
}

// checkHalfBroken wants half of all new requests answered 500 and never with a token, and sessions that
// stay on their backends once begun.
func checkHalfBroken(t *testing.T, envoy *harness.Envoy) {
	t.Helper()
	failed := 0
	for range 100 {
		client := envoy.Client()
		response := client.Get(t, "/split")
		if response.Status == http.StatusInternalServerError {
			failed++
			wantNoToken(t, response, "split")
			continue
		}
		wantToken(t, response, "split")
		stay(t, client, "/split", 3)
	}
	if failed < 40 || failed > 60 {
		t.Errorf("%d of 100 requests were answered 500, want half", failed)
	}
}

func TestStrictRefusesMissingService(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("broken", "missing"))
	deployment.Documents.Port = harness.FreePort(t)
	path := writeFile(t, "documents.yaml", deployment.Documents.YAML(t))
	out := t.TempDir()
	code, _, stderr := harness.Limpet(t, nil, "compile", "-f", path, "-t", "envoy", "-o", out, "--strict")
	if code != 1 || !strings.Contains(stderr, "spec.rules[0].backendRefs[0]") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	wantEmptyFolder(t, out)
}
