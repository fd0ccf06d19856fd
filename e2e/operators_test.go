package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// logOutcomes makes every listener write the outcome of each request to a file.
func logOutcomes(tree harness.Tree, path string) {
	const manager = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	for _, m := range tree.Find(func(m map[string]any) bool { return m["@type"] == manager }) {
		m["access_log"] = []any{map[string]any{
			"name": "envoy.access_loggers.file",
			"typed_config": map[string]any{
				"@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
				"path":  path,
				"log_format": map[string]any{"text_format_source": map[string]any{
					"inline_string": "%REQ(:PATH)% " + harness.FilterState("limpet") + "\n",
				}},
			},
		}}
	}
}

// lifeOfASession makes one request of each of several outcomes.
func lifeOfASession(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	t.Helper()
	visit(t, envoy.Stranger(), "/cart")
	for _, text := range []string{
		mint(t, envoy, "cart", pods[0].Address, harness.Dates{}),
		mint(t, envoy, "cart", goneAddress, harness.Dates{}),
		mint(t, envoy, "cart", pods[0].Address, harness.Dates{Issued: -2 * time.Hour}),
		"forged",
		harness.NewRing("first").Mint(t, envoy.Policy(t, "cart").Scope, pods[0].Address, harness.Dates{}),
		harness.NewRing("other").Mint(t, envoy.Policy(t, "cart").Scope, pods[0].Address, harness.Dates{}),
		envoy.Keys().Mint(t, "another scope", pods[0].Address, harness.Dates{}),
	} {
		visit(t, envoy.Stranger(), "/cart", cookieLine("cart", text))
	}
	visit(t, envoy.Stranger(), "/plain")
}

// wantLife are the outcomes of lifeOfASession in their order, and their codes in access logs.
var (
	wantLife = []string{
		"new", "pinned", "moved", "expired-absolute", "malformed", "bad-signature", "unknown-key", "wrong-scope",
	}
	wantCodes = []string{"new", "pin", "mov", "abs", "mal", "sig", "key", "scp"}
)

// operators deploys the session "cart", with the outcomes in access logs or not, and writes such a log.
func operators(t *testing.T, accessLog bool) (pods []*harness.Backend, envoy *harness.Envoy, log string) {
	t.Helper()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "pods"))
	deployment.Documents.Routes[0].Rules[0].Session.AbsoluteTimeout = "1h"
	deployment.Policies = func(c *policyconfig.Config) { c.AccessLog = accessLog }
	log = filepath.Join(t.TempDir(), "access.log")
	deployment.Tree = func(tree harness.Tree) { logOutcomes(tree, log) }
	return pods, harness.Run(t, deployment), log
}

// TestOperators is about what operators see of sessions: counters and, if they want them there, outcomes in access logs.
func TestOperators(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]func(i int) string{
		"outcomes in the access log":    func(i int) string { return wantCodes[i] },
		"no outcomes in the access log": func(int) string { return "-" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pods, envoy, log := operators(t, code(0) != "-")
			if before := envoy.Stats(t, `^wasmcustom\.limpet_sessions`); len(before) != 0 {
				t.Errorf("counters are defined before they are used: %v", before)
			}
			lifeOfASession(t, envoy, pods)
			checkCounters(t, envoy)
			envoy.Stop() // writes the log out
			checkAccessLog(t, log, code)
		})
	}
}

func checkCounters(t *testing.T, envoy *harness.Envoy) {
	t.Helper()
	want := map[string]uint64{}
	for _, outcome := range wantLife {
		want[outcome] = 1
	}
	wantOutcomes(t, envoy, "cart", want)
	if gauge := envoy.Stat(t, "wasmcustom.limpet_memory_bytes"); gauge < 65536 || gauge%65536 != 0 && !harness.Native() {
		t.Errorf("limpet_memory_bytes is %d, want whole pages of 65536 bytes", gauge)
	}
	page := envoy.Admin(t, "/stats/prometheus?filter=limpet_")
	series := `limpet_sessions{limpet_policy="default/app/rule/0",limpet_outcome="`
	if harness.Native() {
		series = `envoy_dynamicmodulescustom_limpet_sessions{policy="default/app/rule/0",outcome="`
	}
	for _, outcome := range wantLife {
		line := series + outcome + `"} 1` + "\n"
		if !strings.Contains(page, line) {
			t.Errorf("Prometheus has no %s:\n%s", line, page)
		}
	}
}

// checkAccessLog wants one line for each request of lifeOfASession, with what code says of those with a policy.
func checkAccessLog(t *testing.T, path string, code func(i int) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range wantLife {
		want = append(want, "/cart "+code(i))
	}
	want = append(want, "/plain -")
	if got := strings.Split(strings.TrimSpace(string(text)), "\n"); !slices.Equal(got, want) {
		t.Errorf("the access log has %q, want %q", got, want)
	}
}
