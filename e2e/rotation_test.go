package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// TestKeyRotation replaces the key ring of a running Envoy step by step, sealed as operators would have it, while
// clients keep their sessions busy. No request may fail and no session may move; in the end every token is
// signed with the new key alone.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	all := harness.NewRing("old", "new")
	root := harness.NewRoot()
	sealed := func(ids ...string) policyconfig.Keys {
		text, err := root.Seal([]byte(all.Only(ids...).JSON(t)))
		if err != nil {
			t.Fatal(err)
		}
		return policyconfig.Keys{Sealed: text}
	}
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	discovery := &harness.Discovery{}
	deployment.Keys = all
	deployment.Workers = 2
	deployment.Env = harness.Environment(root)
	deployment.Policies = func(config *policyconfig.Config) { config.Keys = sealed("old") }
	deployment.Tree = func(tree harness.Tree) {
		unsealEnvironment(t, tree)
		discovery.Install(t, tree)
	}
	envoy := harness.Run(t, deployment)

	clients := newTenants(t, envoy, 12)
	for _, ids := range [][]string{{"old", "new"}, {"new", "old"}, {"new"}} {
		config := envoy.Config
		config.Keys = sealed(ids...)
		clients.during(t, func() { reload(t, envoy, discovery, config) })
	}
	clients.wantSignedWith(t, all.Only("new"), envoy.Policy(t, "cart").Scope)
}

// unsealEnvironment lets the plugin read the root secret instead of the ring from Envoy's environment.
func unsealEnvironment(t *testing.T, tree harness.Tree) {
	t.Helper()
	if harness.Native() {
		return // which reads Envoy's own
	}
	vm := tree.One(t, "VM configuration", func(m map[string]any) bool { _, ok := m["runtime"]; return ok })
	vm["environment_variables"] = map[string]any{"host_env_keys": []any{"LIMPET_ROOT"}}
}

// reload puts a configuration into place and waits until Envoy runs it, and every client has been served by it.
func reload(t *testing.T, envoy *harness.Envoy, discovery *harness.Discovery, config policyconfig.Config) {
	t.Helper()
	taken, _ := discovery.Reloads(t, envoy)
	discovery.Set(t, config)
	eventually(t, "Envoy takes the new configuration over", func() bool {
		now, _ := discovery.Reloads(t, envoy)
		return now > taken
	})
	time.Sleep(500 * time.Millisecond)
}

// tenants are clients each of which keeps one session.
type tenants struct {
	clients []*harness.Client
	homes   []string
}

func newTenants(t *testing.T, envoy *harness.Envoy, count int) *tenants {
	t.Helper()
	all := &tenants{}
	for range count {
		client := envoy.Client()
		all.clients = append(all.clients, client)
		all.homes = append(all.homes, visit(t, client, "/cart").Backend)
	}
	return all
}

// during keeps every client busy while work runs, and fails if any session moved.
func (all *tenants) during(t *testing.T, work func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	var requests atomic.Int64
	faults := make(chan string, len(all.clients))
	for i, client := range all.clients {
		group.Go(func() {
			for ctx.Err() == nil {
				response, err := client.Try(http.MethodGet, "/cart", harness.ReplyQuiet+": 1")
				if err != nil || response.Status != http.StatusOK || response.Backend != all.homes[i] {
					faults <- fmt.Sprintf("a session on %s: %v, status %d from %q", all.homes[i], err, response.Status, response.Backend)
					return
				}
				requests.Add(1)
			}
		})
	}
	work()
	stop()
	group.Wait()
	close(faults)
	for fault := range faults {
		t.Error(fault)
	}
	t.Logf("%d requests during a reload", requests.Load())
	if requests.Load() < int64(10*len(all.clients)) {
		t.Errorf("only %d requests during a reload: too few to show anything", requests.Load())
	}
}

// wantSignedWith fails unless every client's token opens with this ring alone.
func (all *tenants) wantSignedWith(t *testing.T, ring harness.Ring, scope string) {
	t.Helper()
	for _, client := range all.clients {
		text := client.Jar.Value("cart")
		if _, verdict := ring.Scope(t, scope).Open(text, time.Now().Unix()); verdict != token.Valid {
			t.Errorf("a token is %v under the new key alone", verdict)
		}
	}
}

// TestRingInEnvironmentSignsWithTheFirstKey: the first key signs, all verify, and a token of a later key is signed
// again on use.
func TestRingInEnvironmentSignsWithTheFirstKey(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	deployment.Keys = harness.NewRing("first", "second")
	envoy := harness.Run(t, deployment)
	second := deployment.Keys.Only("second")
	text := second.Mint(t, envoy.Policy(t, "cart").Scope, pods[2].Address, harness.Dates{})
	response := visit(t, envoy.Stranger(), "/cart", cookieLine("cart", text))
	if response.Backend != "c" {
		t.Errorf("a token of the second key led to %s", response.Backend)
	}
	renewed := wantToken(t, response, "cart").Value
	if _, verdict := deployment.Keys.Only("first").Scope(t, envoy.Policy(t, "cart").Scope).Open(renewed, time.Now().Unix()); verdict != token.Valid {
		t.Errorf("the new token is %v under the first key", verdict)
	}
	if _, err := base64.RawURLEncoding.DecodeString(renewed); err != nil || len(renewed) != harness.TokenLen {
		t.Errorf("a token of %d characters: %v", len(renewed), err)
	}
}
