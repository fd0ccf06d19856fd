// Package e2e tests limpet as users get it: the shipped bin/limpet compiles Gateway API documents, a real Envoy
// runs the result with the shipped dist/limpet.wasm, and clients talk to backends through it.
package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// threePods deploys three backends behind these rules.
func threePods(t *testing.T, rules ...harness.Rule) ([]*harness.Backend, harness.Deployment) {
	t.Helper()
	pods := harness.Backends(t, "a", "b", "c")
	return pods, harness.Deployment{Documents: harness.OneRoute(pods, rules...)}
}

// editing returns a change of the policy of each of these sessions, for options that HTTPRoute can't say.
func editing(t *testing.T, edits map[string]func(*policyconfig.Policy)) func(*policyconfig.Config) {
	return func(config *policyconfig.Config) {
		for session, edit := range edits {
			edit(harness.PolicyOf(t, config, session))
		}
	}
}

// visit sends a GET that must be answered 200 by a backend.
func visit(t *testing.T, client *harness.Client, path string, headers ...string) harness.Response {
	t.Helper()
	response := client.Get(t, path, headers...)
	if response.Status != http.StatusOK || response.Backend == "" {
		t.Fatalf("GET %s: status %d from backend %q: %s", path, response.Status, response.Backend, response.Body)
	}
	return response
}

// stay sends count requests, which must all reach the same backend, and returns its name.
func stay(t *testing.T, client *harness.Client, path string, count int, headers ...string) string {
	t.Helper()
	first := visit(t, client, path, headers...).Backend
	for i := 1; i < count; i++ {
		if next := visit(t, client, path, headers...).Backend; next != first {
			t.Fatalf("GET %s: request %d reached %s, the ones before %s", path, i+1, next, first)
		}
	}
	return first
}

// spread sends count requests and returns how many each backend answered.
func spread(t *testing.T, client *harness.Client, path string, count int, headers ...string) map[string]int {
	t.Helper()
	shares := map[string]int{}
	for range count {
		shares[visit(t, client, path, headers...).Backend]++
	}
	return shares
}

// wantBalanced fails unless each of the backends a, b and c has at least a fifth of the requests.
func wantBalanced(t *testing.T, shares map[string]int) {
	t.Helper()
	total := shares["a"] + shares["b"] + shares["c"]
	for _, name := range []string{"a", "b", "c"} {
		if shares[name]*5 < total {
			t.Fatalf("not balanced over a, b and c: %v", shares)
		}
	}
}

// wantOutcomes fails unless the policy's counters are exactly these.
func wantOutcomes(t *testing.T, envoy *harness.Envoy, session string, want map[string]uint64) {
	t.Helper()
	got := envoy.Outcomes(t, session)
	for _, outcomes := range []map[string]uint64{want, got} {
		for name := range outcomes {
			if got[name] != want[name] {
				t.Errorf("session %s: %d requests with outcome %q, want %d; all: %v", session, got[name], name, want[name], got)
			}
		}
	}
}

// wantToken fails unless the response sets a cookie of that name, which it returns.
func wantToken(t *testing.T, response harness.Response, name string) *http.Cookie {
	t.Helper()
	cookie := response.Cookie(t, name)
	if cookie == nil || cookie.Value == "" {
		t.Fatalf("no token %s in the response: status %d, Set-Cookie %q", name, response.Status, response.Header["Set-Cookie"])
	}
	return cookie
}

// wantNoToken fails if the response sets or deletes a cookie of that name.
func wantNoToken(t *testing.T, response harness.Response, name string) {
	t.Helper()
	if cookie := response.Cookie(t, name); cookie != nil {
		t.Fatalf("status %d, and a cookie that must not be there: %q", response.Status, cookie.Raw)
	}
}

// wantDeleted fails unless the response deletes the cookie of that name.
func wantDeleted(t *testing.T, response harness.Response, name string) *http.Cookie {
	t.Helper()
	cookie := response.Cookie(t, name)
	if cookie == nil || cookie.MaxAge >= 0 {
		t.Fatalf("status %d, and the cookie %s is not deleted: Set-Cookie %q", response.Status, name, response.Header["Set-Cookie"])
	}
	return cookie
}

// open authenticates a token that the Envoy made for the session's policy.
func open(t *testing.T, envoy *harness.Envoy, session, text string) token.Session {
	t.Helper()
	got, verdict := envoy.Keys().Scope(t, envoy.Policy(t, session).Scope).Open(text, time.Now().Unix())
	if verdict != token.Valid {
		t.Fatalf("the token of session %s is %v: %q", session, verdict, text)
	}
	return got
}

// mint makes a token of the session's policy for a backend, with an edge case in its dates or none.
func mint(t *testing.T, envoy *harness.Envoy, session, address string, dates harness.Dates) string {
	t.Helper()
	return envoy.Keys().Mint(t, envoy.Policy(t, session).Scope, address, dates)
}

// cookieLine is the header line that carries a token.
func cookieLine(session, text string) string { return "Cookie: " + session + "=" + text }

// writeFile writes a file that only its owner can read and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantEmptyFolder fails if there is anything in a folder.
func wantEmptyFolder(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("%s was written", entry.Name())
	}
}

// patience is how long what must come may take, on a machine that is busy.
const patience = 5 * time.Minute

// eventually tries a condition until it holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
