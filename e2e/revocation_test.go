package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// revocation voids the tokens of other epochs, and those that were issued before a date.
var revocation = option{
	name:  "revocation",
	rules: cookieRules("epoch", "date"),
	edits: map[string]func(*policyconfig.Policy){
		"epoch": func(p *policyconfig.Policy) { p.Revocation.Epoch = 7 },
		"date":  func(p *policyconfig.Policy) { p.Revocation.NotBefore = policyconfig.Time(time.Now().Unix() - 60) },
	},
	check: checkRevocation,
}

func checkRevocation(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	for _, c := range []struct {
		session string
		dates   harness.Dates
		revoked bool
	}{
		{"epoch", harness.Dates{Epoch: 6}, true},
		{"epoch", harness.Dates{Epoch: 8}, true},
		{"epoch", harness.Dates{Epoch: 7}, false},
		{"date", harness.Dates{Issued: -2 * time.Minute}, true},
		{"date", harness.Dates{Issued: -30 * time.Second}, false},
	} {
		shares := map[string]int{}
		for range 9 {
			text := mint(t, envoy, c.session, pods[2].Address, c.dates)
			response := visit(t, envoy.Stranger(), "/"+c.session, cookieLine(c.session, text))
			shares[response.Backend]++
			if c.revoked {
				wantToken(t, response, c.session)
			}
		}
		if pinned := shares["c"] == 9; pinned == c.revoked {
			t.Errorf("%+v: reached %v", c, shares)
		}
	}
	wantOutcomes(t, envoy, "epoch", map[string]uint64{"revoked": 18, "pinned": 9})
	renewed := wantToken(t, visit(t, envoy.Stranger(), "/epoch"), "epoch")
	if got := open(t, envoy, "epoch", renewed.Value).Epoch; got != 7 {
		t.Errorf("a new token has the epoch %d, want 7", got)
	}
}

const revokedBackendPolicy = `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: stolen, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  revocation: {backends: ["default/green:80 before %s"]}
`

// TestRevokedBackend: in a split with one session, whose backends are one cluster, the sessions of one backend end that came to it
// before a time, with tokens that do not name the backend; those of the other stay where they are, and later ones too.
//
// requirements: S43
func TestRevokedBackend(t *testing.T) {
	t.Parallel()
	blue, green := harness.Backends(t, "b0", "b1"), harness.Backends(t, "g0", "g1")
	w := harness.RunWatching(t, harness.Documents{
		Services: []harness.Service{{Name: "blue", Backends: blue}, {Name: "green", Backends: green}},
		Routes: []harness.Route{{Name: "app", Rules: []harness.Rule{{
			Path: "/cart", Refs: []harness.Ref{{Service: "blue", Weight: 1}, {Service: "green", Weight: 1}},
			Session: &harness.Session{Name: "cart", Type: policyconfig.TypeCookie},
		}}}},
	}, harness.NewRing("a"))
	var clients []*harness.Client
	var homes []string
	for range 40 {
		clients = append(clients, w.Client())
		homes = append(homes, visit(t, clients[len(clients)-1], "/cart").Backend)
	}
	before := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(before))
	w.Set(t, func(d *harness.Documents) {
		d.More = fmt.Sprintf(revokedBackendPolicy, before.UTC().Format(time.RFC3339))
	})
	revoked := 0
	for i, home := range homes {
		r := visit(t, clients[i], "/cart")
		if home[0] == 'b' {
			wantNoToken(t, r, "cart")
			if r.Backend != home {
				t.Errorf("a session of the other backend went from %s to %s", home, r.Backend)
			}
			continue
		}
		revoked++
		wantToken(t, r, "cart")
		homes[i] = r.Backend
	}
	if revoked < 5 || revoked > 35 {
		t.Fatalf("%d of 40 sessions were on the backend that is revoked: that shows nothing", revoked)
	}
	crossed := 0
	for i, home := range homes {
		r := visit(t, clients[i], "/cart")
		wantNoToken(t, r, "cart")
		if r.Backend != home {
			t.Errorf("a session that is not revoked went from %s to %s", home, r.Backend)
		}
		if home[0] == 'g' {
			crossed++
		}
	}
	t.Logf("%d sessions of green ended; %d began there again", revoked, crossed)
}

const revokedOnesPolicy = `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: stolen, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  %s  hosts: ["%s before %s"]
`

// revokeSession gives what "limpet revoke" prints for a token.
func revokeSession(t *testing.T, documents harness.Documents, ring harness.Ring, tok string) string {
	t.Helper()
	return strings.ReplaceAll(askAbout(t, "revoke", documents, ring, tok), "\n", "\n  ")
}

// askAbout gives what a command of limpet prints for a text with a token.
func askAbout(t *testing.T, command string, documents harness.Documents, ring harness.Ring, text string) string {
	t.Helper()
	c := exec.Command(harness.Find(t).Limpet, command,
		"-f", writeFile(t, "in.yaml", documents.YAML(t)), "--keys", writeFile(t, "keys.json", ring.JSON(t)))
	c.Stdin = strings.NewReader(text)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("limpet %s: %v", command, err)
	}
	return string(out)
}

// TestRevokedOnes ends one session by what "limpet revoke" prints for its token, and those of one host; all others stay.
//
// requirements: S43
func TestRevokedOnes(t *testing.T) {
	t.Parallel()
	pods, ring := harness.Backends(t, "a", "b", "c"), harness.NewRing("a")
	w := harness.RunWatching(t, harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: pods}},
		Routes: []harness.Route{{Name: "app", Rules: []harness.Rule{{
			Path: "/cart", Refs: []harness.Ref{{Service: "pods", Weight: 1}}, Session: &harness.Session{Name: "cart", Type: policyconfig.TypeCookie},
		}}}},
	}, ring)
	var clients []*harness.Client
	var homes, tokens []string
	for range 18 {
		clients = append(clients, w.Client())
		r := visit(t, clients[len(clients)-1], "/cart")
		homes, tokens = append(homes, r.Backend), append(tokens, wantToken(t, r, "cart").Value)
	}
	one := slices.IndexFunc(homes, func(home string) bool { return home != "c" })
	entry := revokeSession(t, w.Documents, ring, tokens[one])
	before := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(before))
	w.Set(t, func(d *harness.Documents) {
		d.More = fmt.Sprintf(revokedOnesPolicy, entry, pods[2].Address, before.UTC().Format(time.RFC3339))
	})
	wantToken(t, visit(t, w.Client(), "/cart", cookieLine("cart", tokens[one])), "cart") // of who copied it
	for i, home := range homes {
		r := visit(t, clients[i], "/cart")
		if i == one || home == "c" {
			wantToken(t, r, "cart")
			continue
		}
		wantNoToken(t, r, "cart")
		if r.Backend != home {
			t.Errorf("a session that is not revoked went from %s to %s", home, r.Backend)
		}
	}
	if !slices.Contains(homes, "c") {
		t.Errorf("no session was on the host that is revoked: %v", homes)
	}
}
