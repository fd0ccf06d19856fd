package behaviour

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func TestRevocationByEpoch(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(`"revocation":{"epoch":7}`), start)
		home := w.get().host
		w.restart(config(`"revocation":{"epoch":7}`), start, ringA)
		want(t, "host, same epoch", w.get().host, home)
		w.restart(config(`"revocation":{"epoch":8}`), start, ringA)
		want(t, "tokens issued, next epoch", len(w.get().setCookies()), 1)
		w.counted("p revoked", 1)
		w.get()
		w.counted("p pinned", 1)
	})
}

func TestRevocationByDate(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(), start)
		w.get()
		w.pass(time.Minute)
		w.restart(config(`"revocation":{"notBefore":"2026-11-21T12:00:00Z"}`), start, ringA)
		w.get()
		w.counted("p pinned", 1)
		w.restart(config(`"revocation":{"notBefore":"2026-11-21T12:00:01Z"}`), start, ringA)
		want(t, "tokens issued", len(w.get().setCookies()), 1)
		w.counted("p revoked", 1)
	})
}

func TestKeyRotation(t *testing.T) {
	const (
		both   = `{"keys":[{"id":"b","secret":"` + secretB + `"},{"id":"a","secret":"` + secretA + `"}]}`
		later  = `{"keys":[{"id":"b","secret":"` + secretB + `","notBefore":"2026-11-21T12:10:00Z"},{"id":"a","secret":"` + secretA + `"}]}`
		second = `{"keys":[{"id":"b","secret":"` + secretB + `"}]}`
		ends   = `{"keys":[{"id":"b","secret":"` + secretB + `"},{"id":"a","secret":"` + secretA + `","notAfter":"2026-11-21T12:00:10Z"}]}`
	)
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(), start)
		home := w.get().host
		old := w.cookies["sid"]
		w.restart(config(), start, later)
		want(t, "tokens re-signed before the new key's time", len(w.get().setCookies()), 0)
		w.restart(config(), start, both)
		r := w.get()
		want(t, "host", r.host, home)
		want(t, "tokens re-signed with the new key", len(r.setCookies()), 1)
		w.counted("p renewed", 1)
		w.restart(config(), start, second)
		want(t, "host after the old key is gone", w.get().host, home)
		w.get("cookie: sid=" + old)
		w.counted("p unknown-key", 1)
		w.restart(config(), start, ends)
		w.get("cookie: sid=" + old)
		w.counted("p renewed", 1)
		w.pass(10 * time.Second)
		w.get("cookie: sid=" + old)
		w.counted("p unknown-key", 1)
	})
}

// TestRingEnds: at the end of a ring its keys sign and verify no more, whatever is said of each; requests are served on.
func TestRingEnds(t *testing.T) {
	const ends = `{"keys":[{"id":"a","secret":"` + secretA + `","notAfter":"2026-11-22T12:00:00Z"}],"notAfter":"2026-11-21T12:00:10Z"}`
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(), start)
		w.get()
		w.restart(config(), start, ends)
		w.get()
		w.counted("p pinned", 1)
		w.pass(10 * time.Second)
		r := w.get()
		want(t, "a backend answers", r.host != "", true)
		want(t, "tokens issued", len(r.setCookies()), 0)
		w.counted("p unknown-key", 1)
	})
}

func TestWrongScope(t *testing.T) {
	each(t, configs(policy("p", "r"), policy("q", "r2")), func(t *testing.T, w *world) {
		w.get()
		r := w.send("r2", "c")
		want(t, "tokens issued by the other policy", len(r.setCookies()), 1)
		w.counted("q wrong-scope", 1)
		w.counted("p new", 1)
	})
}

func TestSharedScope(t *testing.T) {
	each(t, configs(policy("p", "r", `"scope":"s"`), policy("q", "r2", `"scope":"s"`)), func(t *testing.T, w *world) {
		home := w.get().host
		want(t, "host under the other policy", w.send("r2", "c").host, home)
		w.counted("q pinned", 1)
	})
}

func TestPolicyByCluster(t *testing.T) {
	cfg := configs(policy("p", "r", `"clusters":["c1"]`, `"sessionName":"s1"`), policy("q", "r", `"clusters":["c2"]`, `"sessionName":"s2"`))
	each(t, cfg, func(t *testing.T, w *world) {
		one, two := w.send("r", "c1").host, w.send("r", "c2").host
		want(t, "host in c1", w.send("r", "c1").host, one)
		want(t, "host in c2", w.send("r", "c2").host, two)
		w.unpoliced = true
		want(t, "tokens issued in a cluster without a policy", len(w.send("r", "c3").setCookies()), 0)
		w.counted("p pinned", 1)
		w.counted("q pinned", 1)
	})
}

func TestRouteWithoutPolicy(t *testing.T) {
	each(t, config(), func(t *testing.T, w *world) {
		w.unpoliced = true
		r := w.send("other", "c")
		want(t, "tokens issued", len(r.setCookies()), 0)
		want(t, "counters", len(w.counts()), 0)
	})
}

func TestAccessLog(t *testing.T) {
	on := strings.Replace(config(), `"policies"`, `"accessLog":true,"policies"`, 1)
	each(t, on, func(t *testing.T, w *world) {
		want(t, "new session", w.get().log, "new")
		want(t, "pinned", w.get().log, "pin")
		want(t, "forged", w.get("cookie: sid="+forged).log, "key")
		want(t, "rubbish", w.get("cookie: sid=rubbish").log, "mal")
		w.hosts = []string{"10.0.0.9:8080"}
		want(t, "moved", w.get().log, "mov")
	})
	each(t, config(), func(t *testing.T, w *world) {
		want(t, "switched off", w.get().log, "")
	})
}

func TestRevealHost(t *testing.T) {
	each(t, config(`"revealHost":true`), func(t *testing.T, w *world) {
		w.hosts = w.hosts[:1]
		w.get()
		bytes, err := base64.RawURLEncoding.DecodeString(w.cookies["sid"])
		w.noError(err)
		want(t, "the address in the token", strings.Contains(string(bytes), "\x0a\x00\x00\x01\x1f\x90"), true)
		w.get()
		w.counted("p pinned", 1)
	})
	each(t, config(), func(t *testing.T, w *world) {
		w.hosts = w.hosts[:1]
		w.get()
		bytes, err := base64.RawURLEncoding.DecodeString(w.cookies["sid"])
		w.noError(err)
		want(t, "the address in a token that hides it", strings.Contains(string(bytes), "\x0a\x00\x00\x01"), false)
	})
}

// The plugin says everything that is wrong, and never a key.
func TestRefusedConfigurations(t *testing.T) {
	tests := []struct {
		name, config, ring string
		want               []string
	}{
		{
			"two faults", configs(policy("p", "r", `"cookie":{"sameSite":"strict"}`, `"onHostLost":"Explode"`)), ringA,
			[]string{`policies[0].cookie.sameSite: Unsupported value: "strict": supported values: "Strict", "Lax", "None"`, `policies[0].onHostLost: Unsupported value: "Explode"`},
		},
		{"unknown field", configs(policy("p", "r", `"sticky":true`)), ringA, []string{"policies[0].sticky"}},
		{"not JSON", `{"version"`, ringA, []string{"JSON"}},
		{"empty", ``, ringA, []string{"JSON"}},
		{"no ring", config(), "", []string{"LIMPET_KEYS is empty"}},
		{"short key", config(), `{"keys":[{"id":"a","secret":"c2hvcnRzZWNyZXRzaG9ydA"}]}`, []string{"key ring in the environment variable LIMPET_KEYS: keys[0].secret", "32"}},
		{"sealed without a root", strings.Replace(config(), `"policies"`, `"keys":{"sealed":"1.`+strings.Repeat("A", 80)+`"},"policies"`, 1), ringA, []string{"LIMPET_ROOT"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachBuild(t, func(t *testing.T, start start) {
				_, err := start(t, tt.config, map[string]string{"LIMPET_KEYS": tt.ring}, time.Now)
				if err == nil {
					t.Fatal("accepted")
				}
				for _, text := range tt.want {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("the log lacks %q:\n%v", text, err)
					}
				}
				if strings.Contains(err.Error(), "c2hvcnRzZWNyZXRzaG9ydA") {
					t.Errorf("a key is in the log:\n%v", err)
				}
			})
		})
	}
}
