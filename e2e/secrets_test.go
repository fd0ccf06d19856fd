package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestTwoEnvoys: proxies with the same keys serve each other's sessions, without any shared state.
//
// requirements: 2A.1, S38
func TestTwoEnvoys(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	deployment.Keys = harness.NewRing("first")
	one, two := harness.Run(t, deployment), harness.Run(t, deployment)
	for _, pair := range [][2]*harness.Envoy{{one, two}, {two, one}} {
		for range 6 {
			begun := visit(t, pair[0].Stranger(), "/cart")
			line := cookieLine("cart", wantToken(t, begun, "cart").Value)
			if got := stay(t, pair[1].Stranger(), "/cart", 10, line); got != begun.Backend {
				t.Errorf("a session on %s is on %s at the other Envoy", begun.Backend, got)
			}
		}
	}
	line := cookieLine("cart", wantToken(t, visit(t, one.Stranger(), "/cart"), "cart").Value)
	for outcome, ids := range map[string]string{"bad-signature": "first", "unknown-key": "other"} {
		deployment.Keys = harness.NewRing(ids)
		stranger := harness.Run(t, deployment)
		wantBalanced(t, spread(t, stranger.Stranger(), "/cart", 30, line))
		wantOutcomes(t, stranger, "cart", map[string]uint64{outcome: 30})
	}
}

// TestKeysStaySecret greps everything that limpet and Envoy write for the keys, in every spelling: files, output, the
// log at its most talkative, every page of the admin interface, and answers.
//
// requirements: 2A.3
func TestKeysStaySecret(t *testing.T) {
	t.Parallel()
	t.Run("ring in Envoy's environment", func(t *testing.T) {
		t.Parallel()
		_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
		deployment.Keys = harness.NewRing("first", "second")
		deployment.LogLevel = "trace"
		deployment.Flags = []string{"--admin=all"}
		grepAll(t, harness.Compile(t, deployment), deployment.Keys.Secrets())
	})
	t.Run("ring sealed in the configuration", func(t *testing.T) {
		t.Parallel()
		_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
		deployment.Keys = harness.NewRing("first", "second")
		deployment.LogLevel = "trace"
		root := harness.NewRoot()
		deployment.Env = harness.Environment(root)
		deployment.CompileEnv = deployment.Env
		deployment.Flags = []string{"--keys", writeFile(t, "keys.json", deployment.Keys.JSON(t)), "--admin=all"}
		compiled := harness.Compile(t, deployment)
		grepAll(t, compiled, append(deployment.Keys.Secrets(), harness.Spellings(root.Secret)...))
	})
}

// TestKeysInTheClear is the mode in which the files hold the ring: readable by their owner only, with a warning.
func TestKeysInTheClear(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	deployment.Keys = harness.NewRing("first")
	deployment.Env = []string{"NOTHING=1"}
	deployment.LogLevel = "info" // what Envoy logs unless it is told otherwise
	deployment.Flags = []string{"--keys", writeFile(t, "keys.json", deployment.Keys.JSON(t)), "--keys-in-clear"}
	compiled := harness.Compile(t, deployment)
	for _, name := range []string{"envoy.yaml", "plugin.json"} {
		info, err := os.Stat(filepath.Join(compiled.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s holds the keys with mode %v", name, info.Mode())
		}
	}
	if !strings.Contains(compiled.Output, "config_dump") {
		t.Errorf("limpet does not say who can read the keys: %q", compiled.Output)
	}
	grep(t, "limpet's output", compiled.Output, deployment.Keys.Secrets())
	envoy := compiled.Start(t)
	stay(t, envoy.Client(), "/cart", 10)
	grep(t, "Envoy's log", envoy.Log(t), deployment.Keys.Secrets())
}

func grepAll(t *testing.T, compiled *harness.Compiled, secrets []string) {
	t.Helper()
	grep(t, "limpet's output", compiled.Output, secrets)
	err := filepath.WalkDir(compiled.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		grep(t, entry.Name(), string(text), secrets)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	envoy := compiled.Start(t)
	client := envoy.Client()
	stay(t, client, "/cart", 10)
	response := visit(t, envoy.Stranger(), "/cart", cookieLine("cart", "forged"))
	for name, values := range response.Header {
		grep(t, "header "+name, strings.Join(values, "\n"), secrets)
	}
	for _, page := range []string{"/config_dump?include_eds", "/server_info", "/stats", "/stats/prometheus", "/clusters", "/listeners"} {
		grep(t, "admin "+page, envoy.Admin(t, page), secrets)
	}
	envoy.Stop()
	grep(t, "Envoy's log", envoy.Log(t), secrets)
}

// grep fails if text, which must not be empty, holds one of the secrets. It does not show the text.
func grep(t *testing.T, what, text string, secrets []string) {
	t.Helper()
	if text == "" && what != "limpet's output" {
		t.Errorf("%s is empty", what)
	}
	for i, secret := range secrets {
		if len(secret) < 16 {
			t.Fatalf("secret %d is too short to look for", i)
		}
		if strings.Contains(text, secret) {
			t.Errorf("%s holds secret %d", what, i)
		}
	}
}
