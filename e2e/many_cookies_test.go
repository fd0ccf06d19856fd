package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
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

// TestManyCookies is about finding the session's token among whatever else clients send as cookies.
//
// requirements: 2A.24, 2B.O8, S45
func TestManyCookies(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"))
	envoy := harness.Run(t, deployment)
	valid := mint(t, envoy, "cart", pods[1].Address, harness.Dates{})
	forged := harness.NewRing("first").Mint(t, envoy.Policy(t, "cart").Scope, pods[0].Address, harness.Dates{})
	t.Run("the valid token is found", func(t *testing.T) { checkFound(t, envoy, valid, forged) })
	t.Run("other cookies are untouched", func(t *testing.T) { checkUntouched(t, envoy, valid) })
	t.Run("a flood of forged tokens", func(t *testing.T) { checkFlood(t, envoy, valid, forged) })
	t.Run("oversized headers", func(t *testing.T) { checkOversized(t, envoy) })
}

func checkFound(t *testing.T, envoy *harness.Envoy, valid, forged string) {
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

func checkUntouched(t *testing.T, envoy *harness.Envoy, valid string) {
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

// checkFlood sends 55 kB of tokens of the right form and version. The first four are verified; a valid one is found
// among these and not behind them. All of it reaches the backend.
func checkFlood(t *testing.T, envoy *harness.Envoy, valid, forged string) {
	for place, want := range map[int]string{0: "pinned", 3: "pinned", 4: "bad-signature", 530: "bad-signature"} {
		pairs := slices.Repeat([]string{"cart=" + forged}, 533)
		pairs[place] = "cart=" + valid
		flood := strings.Join(pairs, "; ")
		before := envoy.Outcomes(t, "cart")[want]
		response := visit(t, envoy.Stranger(), "/cart", "Cookie: "+flood)
		if got := envoy.Outcomes(t, "cart")[want] - before; got != 1 {
			t.Errorf("the valid token at place %d: counted as %s %d times", place, want, got)
		}
		if got := response.Seen.Headers.Get("Cookie"); got != flood {
			t.Errorf("the backend got %d of %d bytes of cookies", len(got), len(flood))
		}
	}
}

func checkOversized(t *testing.T, envoy *harness.Envoy) {
	huge := strings.Repeat("A", 50_000)
	for range 3 {
		wantToken(t, visit(t, envoy.Stranger(), "/cart", cookieLine("cart", huge)), "cart")
		response := visit(t, envoy.Stranger(), "/x-cart", "x-cart: "+huge)
		if response.Header.Get("x-cart") == "" {
			t.Errorf("no new token for an oversized header: %v", response.Header)
		}
	}
}
