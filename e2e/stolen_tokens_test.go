package e2e

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// stolenToken is a use of a token that it was not made for.
type stolenToken struct {
	host, path, line string
	outcome          string // the counter by which limpet refuses it
}

// thieves is an Envoy with sessions that a thief might mix up: two rules with a cookie of one name, the same name on
// another host, another name, and a header.
func thieves(t *testing.T) (*harness.Envoy, []*harness.Backend) {
	t.Helper()
	pods := harness.Backends(t, "a", "b", "c")
	twin := harness.CookieRule("twin", "pods")
	twin.Session.Name = "cart"
	rules := []harness.Rule{harness.CookieRule("cart", "pods"), twin, harness.CookieRule("basket", "pods"), harness.HeaderRule("x-cart", "pods")}
	documents := harness.OneRoute(pods, rules...)
	documents.Routes[0].Hostnames = []string{"app.example.com"}
	documents.Routes = append(documents.Routes, harness.Route{
		Name: "shop", Hostnames: []string{"shop.example.com"}, Rules: []harness.Rule{harness.CookieRule("cart", "pods")},
	})
	return harness.Run(t, harness.Deployment{Documents: documents, Policies: editing(t, map[string]func(*policyconfig.Policy){
		"cart": func(p *policyconfig.Policy) {
			p.AbsoluteTimeout, p.IdleTimeout, p.Revocation.Epoch = seconds(3600), seconds(600), 1
		},
	})}), pods
}

// thefts uses the tokens of a session on the first pod wherever else they might be taken.
func thefts(t *testing.T, envoy *harness.Envoy, address string) map[string]stolenToken {
	t.Helper()
	cart := func(dates harness.Dates) string { dates.Epoch++; return mint(t, envoy, "cart", address, dates) }
	good, scope := cart(harness.Dates{}), envoy.Policy(t, "cart").Scope
	stranger := func(id string) string {
		return harness.NewRing(id).Mint(t, scope, address, harness.Dates{Epoch: 1})
	}
	at := func(path, line, outcome string) stolenToken {
		return stolenToken{"app.example.com", path, line, outcome}
	}
	own := base64.StdEncoding.EncodeToString([]byte(address))
	return map[string]stolenToken{
		"replayed after its end":            at("/cart", cookieLine("cart", cart(harness.Dates{Issued: -2 * time.Hour})), "expired-absolute"),
		"replayed after a pause":            at("/cart", cookieLine("cart", cart(harness.Dates{Issued: -20 * time.Minute, Seen: -11 * time.Minute})), "expired-idle"),
		"replayed after its revocation":     at("/cart", cookieLine("cart", mint(t, envoy, "cart", address, harness.Dates{})), "revoked"),
		"dated ahead":                       at("/cart", cookieLine("cart", cart(harness.Dates{Issued: time.Hour, Seen: time.Hour})), "not-yet-valid"),
		"of another rule":                   at("/twin", cookieLine("cart", good), "wrong-scope"),
		"of another host":                   {"shop.example.com", "/cart", cookieLine("cart", good), "wrong-scope"},
		"of another name":                   at("/basket", cookieLine("basket", good), "wrong-scope"),
		"of a cookie in a header":           at("/x-cart", "x-cart: "+good, "wrong-scope"),
		"of a header in a cookie":           at("/cart", cookieLine("cart", mint(t, envoy, "x-cart", address, harness.Dates{})), "wrong-scope"),
		"of another deployment":             at("/cart", cookieLine("cart", stranger("other")), "unknown-key"),
		"of another key with the same id":   at("/cart", cookieLine("cart", stranger("first")), "bad-signature"),
		"of version 0":                      at("/cart", cookieLine("cart", altered(t, good, 0, 0)), "malformed"),
		"of version 2":                      at("/cart", cookieLine("cart", altered(t, good, 0, 2)), "malformed"),
		"of version 255":                    at("/cart", cookieLine("cart", altered(t, good, 0, 255)), "malformed"),
		"with its host said to be readable": at("/cart", cookieLine("cart", altered(t, good, 1, 4)), "bad-signature"),
		"with its host said to be IPv6":     at("/cart", cookieLine("cart", altered(t, good, 1, 7)), "malformed"),
		"with an unknown flag":              at("/cart", cookieLine("cart", altered(t, good, 1, 0x45)), "malformed"),
		"without its signature":             at("/cart", cookieLine("cart", good[:len(good)-43]), "malformed"),
		"with a signature of zeros":         at("/cart", cookieLine("cart", good[:len(good)-43]+strings.Repeat("A", 43)), "bad-signature"),
		"of Envoy's own cookie sessions":    at("/cart", cookieLine("cart", own), "malformed"),
		"padded":                            at("/cart", cookieLine("cart", good+"="), "malformed"),
	}
}

// altered is a token with one byte replaced.
func altered(t *testing.T, text string, at int, value byte) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	raw[at] = value
	return base64.RawURLEncoding.EncodeToString(raw)
}

// TestStolenTokens: a token leads to its host where it was made for and nowhere else. Whoever brings it there is
// answered like a new client.
func TestStolenTokens(t *testing.T) {
	t.Parallel()
	const tries = 12
	envoy, pods := thieves(t)
	row := harness.Result{}
	for name, theft := range thefts(t, envoy, pods[0].Address) {
		before := envoy.Stats(t, `^wasmcustom\.limpet_sessions\..*\.outcome\.`+theft.outcome+`$`)
		shares := map[string]int{}
		for range tries {
			client := envoy.Stranger()
			client.Host = theft.host
			response := client.Get(t, theft.path, theft.line)
			if response.Status != http.StatusOK {
				row.Errors++
			}
			shares[response.Backend]++
		}
		row.Requests += tries
		row.Faults++
		if shares[pods[0].Name] == tries || row.Errors > 0 {
			t.Errorf("a token %s: %v", name, shares)
		}
		if got := sumCounters(envoy.Stats(t, `^wasmcustom\.limpet_sessions\..*\.outcome\.`+theft.outcome+`$`)) - sumCounters(before); got != tries {
			t.Errorf("a token %s: %d of %d requests counted as %s", name, got, tries, theft.outcome)
		}
	}
	client := envoy.Stranger()
	client.Host = "app.example.com"
	good := cookieLine("cart", mint(t, envoy, "cart", pods[0].Address, harness.Dates{Epoch: 1}))
	if got := stay(t, client, "/cart", tries, good); got != pods[0].Name {
		t.Errorf("a good token led to %s", got)
	}
	harness.RecordResult(t, "tokens replayed, moved and downgraded", row)
}

// sumCounters adds counters up.
func sumCounters(counters map[string]uint64) uint64 {
	var sum uint64
	for _, value := range counters {
		sum += value
	}
	return sum
}
