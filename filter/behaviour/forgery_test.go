package behaviour

import (
	"encoding/base64"
	"math/rand/v2"
	"testing"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Every change of one character of a valid token, to every other character of the alphabet.
func TestChangedTokens(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		home := w.get().host
		tok := w.cookies["sid"]
		for i := range tok {
			for _, c := range []byte(alphabet) {
				changed := tok[:i] + string(c) + tok[i+1:]
				if changed == tok {
					continue
				}
				w.Turn = 1
				if r := w.get("cookie: sid=" + changed); r.host == home || len(r.setCookies()) != 1 {
					t.Fatalf("character %d changed to %c: pinned to %s, Set-Cookie %q", i, c, r.host, r.setCookies())
				}
			}
		}
		w.counted("p pinned", 0)
	})
}

func TestRandomTokens(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	each(t, config(), func(t *testing.T, w *world) {
		for range 10_000 {
			tok := make([]byte, random.IntN(150))
			for i := range tok {
				tok[i] = alphabet[random.IntN(len(alphabet))]
			}
			if r := w.get("cookie: sid=" + string(tok)); len(r.setCookies()) != 1 {
				t.Fatalf("%s: Set-Cookie %q", tok, r.setCookies())
			}
		}
		w.counted("p pinned", 0)
		w.counted("p renewed", 0)
	})
}

// Bad tokens must not push good ones out of the cache nor grow it; good ones may, within its bound.
func TestEqualHostsMakeDifferentTokens(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		w.hosts = w.hosts[:1]
		seen := map[string]bool{}
		for range 2_000 {
			clear(w.cookies)
			w.get()
			seen[w.cookies["sid"]] = true
		}
		want(t, "different tokens", len(seen), 2_000)
		for tok := range seen {
			want(t, "host", w.get("cookie: sid="+tok).host, w.hosts[0])
		}
		w.counted("p pinned", 2_000)
	})
}

// TestClientsPinIsRemoved: without a session the pin header that a client sends goes no further, also where no fence
// stands before the plugin.
func TestClientsPinIsRemoved(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		steered := pinHeader + ": " + base64.StdEncoding.EncodeToString([]byte(w.hosts[2]))
		for i, cookies := range []map[string]string{{}, {"p": "forged"}, {"q": "another"}} {
			w.Turn, w.cookies = i, cookies
			want(t, "host", w.get(steered).host, w.hosts[i])
			want(t, "requests that were balanced", w.Turn, i+1)
		}
	})
}
