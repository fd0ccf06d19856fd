package behaviour

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
)

// vectors are those of package token, as far as a filter can be asked about them.
type vectors struct {
	Rings  map[string]json.RawMessage
	Tokens []struct {
		Name, Ring, Scope, Token, Verdict string
		Rules                             struct{ AbsoluteTimeout, IdleTimeout, Skew, Epoch, NotBefore int64 }
		Now                               int64
		Session                           struct{ Host string }
	}
}

// TestTokenVectors sends every token of the vectors through every build. A header carries them, for cookies may be quoted.
func TestTokenVectors(t *testing.T) {
	text, err := os.ReadFile("../../token/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all vectors
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, v := range all.Tokens {
		if strings.TrimSpace(v.Token) != v.Token || v.Token == "" || strings.Contains(v.Name, "outside of ASCII") {
			continue // proxies trim values, an empty one is none, and no configuration has such a scope
		}
		revocation := fmt.Sprintf(`"epoch":%d`, v.Rules.Epoch)
		if v.Rules.NotBefore > 0 {
			revocation += fmt.Sprintf(`,"notBefore":%q`, time.Unix(v.Rules.NotBefore, 0).UTC().Format(time.RFC3339))
		}
		fields := []string{`"type":"Header"`, `"sessionName":"x-sid"`, fmt.Sprintf(`"scope":%q`, v.Scope), `"revocation":{` + revocation + `}`}
		if v.Rules.AbsoluteTimeout > 0 {
			fields = append(fields, fmt.Sprintf(`"absoluteTimeout":"%ds"`, v.Rules.AbsoluteTimeout))
		}
		if v.Rules.IdleTimeout > 0 && (v.Rules.AbsoluteTimeout == 0 || v.Rules.IdleTimeout <= v.Rules.AbsoluteTimeout) {
			fields = append(fields, fmt.Sprintf(`"idleTimeout":"%ds"`, v.Rules.IdleTimeout))
		}
		cfg := strings.Replace(config(fields...), `"policies"`, fmt.Sprintf(`"accessLog":true,"clockSkew":"%ds","policies"`, v.Rules.Skew), 1)
		t.Run(v.Name, func(t *testing.T) {
			eachBuild(t, func(t *testing.T, start start) {
				w := emptyWorld(t, time.Unix(v.Now, 0), "192.0.2.1:1")
				if v.Session.Host != "" {
					w.hosts = append(w.hosts, v.Session.Host)
				}
				w.restart(cfg, start, string(all.Rings[v.Ring]))
				if _, real := w.Filter.(realProxy); real && strings.ContainsFunc(v.Token, unicode.IsControl) {
					return // HTTP carries no such value
				}
				w.get("x-sid: " + v.Token)
				outcome := v.Verdict
				if counts := w.counts(); outcome == "valid" && counts["p renewed"] == 1 {
					outcome = "renewed" // its rest is short, or a newer key signs
				} else if outcome == "valid" {
					outcome = "pinned"
				}
				w.counted("p "+outcome, 1)
				if v.Session.Host != "" {
					want(t, "requests that were balanced", w.Turn, 0)
				}
			})
		})
	}
}
