package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/harness"
)

// cookieLines builds Cookie lines around a valid token V and a forged one F of the session "cart".
func cookieLines(valid, forged string, lines ...string) []string {
	var out []string
	for _, line := range lines {
		line = strings.ReplaceAll(line, "VALID", "cart="+valid)
		out = append(out, "Cookie: "+strings.ReplaceAll(line, "FORGED", "cart="+forged))
	}
	return out
}

func TestManyCookies(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	envoy := harness.Run(t, deployment)
	valid := mint(t, envoy, "cart", pods[1].Address, harness.Dates{})
	forged := harness.NewRing("first").Mint(t, envoy.Policy(t, "cart").Scope, pods[0].Address, harness.Dates{})
	quoted := "cart=\"" + valid + "\""
	for name, lines := range map[string][]string{
		"alone":                          {"VALID"},
		"among others":                   {"a=1; VALID; theme=dark"},
		"after a forged one":             {"FORGED; VALID"},
		"before a forged one":            {"VALID; FORGED"},
		"the fourth of its name":         {"FORGED; FORGED; FORGED; VALID"},
		"behind 100 implausible ones":    {strings.Repeat("cart=x; ", 100) + "VALID"},
		"on the second line":             {"a=1; b=2", "VALID"},
		"behind a forged line":           {"FORGED", "VALID"},
		"quoted":                         {quoted},
		"without spaces":                 {"a=1;VALID;b=2"},
		"with many spaces and tabs":      {"a=1 ;  \t VALID \t ; b=2"},
		"behind empty pairs":             {";; ; =; VALID; ;"},
		"behind a name that ends alike":  {"xcart=1; VALID"},
		"behind a name that goes on":     {"cart2=1; VALID"},
		"behind a pair without a value":  {"cart; VALID"},
		"behind a cookie with a = in it": {"a=b=c==; VALID"},
	} {
		sent := cookieLines(valid, forged, lines...)
		for range 4 {
			response := visit(t, envoy.Stranger(), "/cart", sent...)
			if response.Backend != "b" {
				t.Errorf("%s: reached %s instead of b", name, response.Backend)
				break
			}
			wantNoToken(t, response, "cart")
		}
	}
}

func TestOtherCookiesAreUntouched(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	envoy := harness.Run(t, deployment)
	valid := mint(t, envoy, "cart", pods[1].Address, harness.Dates{})
	for _, lines := range [][]string{
		{"a=1; VALID; theme=\"dark;er\"; b==x"},
		{" a=1;VALID;;b=\xc3\xa4 "},
		{"a=1; b=2", "c=3; VALID", "d=4"},
		{"no-session=1"},
	} {
		sent := cookieLines(valid, "", lines...)
		got := visit(t, envoy.Stranger(), "/cart", sent...).Seen.Headers["Cookie"]
		var want []string
		for _, line := range sent {
			want = append(want, strings.TrimSpace(strings.TrimPrefix(line, "Cookie: ")))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the backend got the cookies %q, want %q", got, want)
		}
	}
}

// TestFloodOfForgedCookies sends 55 kB of cookies of the session's name, each of a token's length and version. All but
// four are counted as malformed without a look at their signature; the valid one behind them is not found.
func TestFloodOfForgedCookies(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	envoy := harness.Run(t, deployment)
	stranger := harness.NewRing("first")
	var pairs []string
	for range 55_000 / 103 {
		pairs = append(pairs, "cart="+stranger.Mint(t, envoy.Policy(t, "cart").Scope, pods[0].Address, harness.Dates{}))
	}
	flood := strings.Join(pairs, "; ")
	for range 5 {
		response := visit(t, envoy.Stranger(), "/cart", "Cookie: "+flood)
		wantToken(t, response, "cart")
		if got := response.Seen.Headers.Get("Cookie"); got != flood {
			t.Errorf("the backend got %d of %d bytes of cookies", len(got), len(flood))
		}
	}
	outcomes := envoy.Outcomes(t, "cart")
	if outcomes["pinned"] != 0 || outcomes["bad-signature"]+outcomes["malformed"] == 0 {
		t.Errorf("outcomes: %v", outcomes)
	}
}

func TestOversizedHeaders(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"))
	envoy := harness.Run(t, deployment)
	huge := strings.Repeat("A", 50_000)
	for range 3 {
		wantToken(t, visit(t, envoy.Stranger(), "/cart", cookieLine("cart", huge)), "cart")
		response := visit(t, envoy.Stranger(), "/x-cart", "x-cart: "+huge)
		if response.Header.Get("x-cart") == "" {
			t.Errorf("no new token for an oversized header: %v", response.Header)
		}
	}
}
