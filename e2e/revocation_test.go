package e2e

import (
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
	fresh := wantToken(t, visit(t, envoy.Stranger(), "/epoch"), "epoch")
	if got := open(t, envoy, "epoch", fresh.Value).Epoch; got != 7 {
		t.Errorf("a new token has the epoch %d, want 7", got)
	}
}
