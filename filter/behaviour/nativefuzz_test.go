package behaviour

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/internal/nativetest"
	"github.com/limpet-proxy/limpet/filter/internal/session"
	"github.com/limpet-proxy/limpet/filter/wasmtest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// fuzzedModules are the builds that fuzzing drives: one fills memory with rubbish as soon as it should not be used any more, and
// sanitizers watch the other.
var fuzzedModules = []string{"native/poisoned/liblimpet.so", "native/sanitized/liblimpet.so"}

// fuzzedHosts runs those builds with a configuration.
func fuzzedHosts(f *testing.F, config string) (all []*nativetest.Host) {
	f.Helper()
	for _, name := range fuzzedModules {
		h := nativetest.Start(f, nativetest.Module(f, name))
		if err := h.Configure(config, fuzzedEnvironment); err != nil {
			f.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

var fuzzedEnvironment = map[string]string{"LIMPET_KEYS": ringA}

// FuzzNativeOpen: whatever stands where a token should, the module does what the engine does as Go, and neither lets a changed token
// pin. With sign the text says what a genuine token has in it. It takes the corpus of token's FuzzOpen.
func FuzzNativeOpen(f *testing.F) {
	for _, v := range tokenVectors(f).Tokens {
		f.Add(v.Token, true)
		f.Add(v.Token, false)
	}
	config := configs(policy("header", "header", `"type":"Header"`, `"sessionName":"x-sid"`, `"absoluteTimeout":"1h"`, `"idleTimeout":"10m"`))
	hosts, now := fuzzedHosts(f, config), time.Unix(1_700_000_000, 0)
	f.Fuzz(func(t *testing.T, text string, sign bool) {
		sent := []string{text}
		if sign {
			genuine := genuineToken(t, now, text)
			sent = []string{genuine, changedToken(genuine, text)}
		}
		reference, err := startGo(t, config, fuzzedEnvironment, func() time.Time { return now })
		noError(t, err)
		for _, value := range sent {
			lines := [][2]string{{":method", "GET"}, {"x-sid", value}}
			wanted := sentOn(t, reference, lines)
			for _, h := range hosts {
				got := sentOn(t, &modulePlugin{t, h, func() time.Time { return now }}, lines)
				if pin, other := values(got, pinHeader), values(wanted, pinHeader); !slices.Equal(pin, other) {
					t.Fatalf("%q: the module pins %q, and Go %q", value, pin, other)
				}
			}
		}
		last := [][2]string{{":method", "GET"}, {"x-sid", sent[len(sent)-1]}}
		if _, pinned := first(sentOn(t, reference, last), pinHeader); sign && pinned {
			t.Fatalf("%q pins, and is changed", sent[len(sent)-1])
		}
	})
}

// sentOn is what a filter makes of a request.
func sentOn(t *testing.T, f wasmtest.Filter, lines [][2]string) [][2]string {
	t.Helper()
	s := carried(f, "header", "c", "")
	defer s.Close()
	out, _, err := s.RequestHeaders(slices.Clone(lines), true)
	noError(t, err)
	return out
}

// refuses tells whether a filter refuses requests on a route with those policies.
func refuses(t *testing.T, f wasmtest.Filter, route, policies string) bool {
	t.Helper()
	s := carried(f, route, "c", policies)
	defer s.Close()
	_, local, err := s.RequestHeaders([][2]string{{":method", "GET"}}, true)
	noError(t, err)
	return local != nil && local.Status == 503 && local.Details == policyconfig.RefusedDetails
}

func tokenVectors(f *testing.F) (all vectors) {
	f.Helper()
	text, err := os.ReadFile("../../token/testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		f.Fatal(err)
	}
	return all
}

// genuineToken makes a token whose host, times and nonce come from a text.
func genuineToken(t *testing.T, now time.Time, text string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	host, err := token.ParseHost("10.0.0." + string('0'+sum[0]%10) + ":8080")
	noError(t, err)
	issued := now.Unix() - int64(sum[1])*20
	m := token.Minting{Now: now.Unix(), Reveal: sum[2]%2 == 0}
	copy(m.Nonce[:], sum[3:])
	s := token.Session{Host: host, IssuedAt: issued, LastSeen: issued + int64(sum[4]), Epoch: uint32(sum[5] % 2)}
	minted, err := scopeOf(t, "a", secretA, "header").Append(nil, s, m)
	noError(t, err)
	return string(minted)
}

// changedToken is a token with one character changed, as a text says.
func changedToken(genuine, text string) string {
	sum := sha256.Sum256([]byte(text + "."))
	at, c := int(sum[0])%len(genuine), alphabet[int(sum[1])%len(alphabet)]
	if genuine[at] == c {
		c = alphabet[(int(sum[1])+1)%len(alphabet)]
	}
	return genuine[:at] + string(c) + genuine[at+1:]
}

// FuzzNativeParse: the module takes and refuses the configurations, and the policies of routes, that the engine does as Go. It takes
// the corpus of policy-config's FuzzParse.
func FuzzNativeParse(f *testing.F) {
	for _, pattern := range []string{"valid", "invalid"} {
		names, err := filepath.Glob("../../policy-config/testdata/" + pattern + "/*.json")
		if err != nil || len(names) == 0 {
			f.Fatal(err, names)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	steady, loading := fuzzedHosts(f, configs()), fuzzedHosts(f, configs())
	f.Fuzz(func(t *testing.T, text string) {
		_, _, errs := session.Read(text, func(name string) string { return fuzzedEnvironment[name] })
		reference, err := startGo(t, configs(), fuzzedEnvironment, time.Now)
		noError(t, err)
		sum := sha256.Sum256([]byte(text))
		route := "r#" + hex.EncodeToString(sum[:8])
		refused := refuses(t, reference, route, text)
		for i := range steady {
			err := loading[i].Configure(text, fuzzedEnvironment)
			noError(t, loading[i].Configure(configs(), fuzzedEnvironment)) // it lives
			if (err != nil) != (len(errs) > 0) {
				t.Fatalf("%s: the module says %v, and Go %v", fuzzedModules[i], err, errs)
			}
			if got := refuses(t, &modulePlugin{t, steady[i], time.Now}, route, text); got != refused {
				t.Fatalf("%s, policies of a route: the module refuses: %v, and Go: %v", fuzzedModules[i], got, refused)
			}
			noError(t, steady[i].SetPolicies("")) // it lives
		}
	})
}

// TestZonesLeaveNothing: an address with a zone is refused and leaves nothing behind that a later configuration could stumble over.
func TestZonesLeaveNothing(t *testing.T) {
	for _, name := range fuzzedModules {
		h := nativetest.Start(t, nativetest.Module(t, name))
		for range 20 {
			for _, field := range []string{
				`"revocation":{"hosts":["[fe80::1%eth0]:80 before 2026-01-01T00:00:00Z"]}`, `"owners":["[fe80::1%eth0]:80 pod 0102030405060709"]`,
			} {
				if err := h.Configure(config(field), fuzzedEnvironment); err == nil {
					t.Errorf("%s: %s is taken", name, field)
				}
			}
			noError(t, h.Configure(config(), fuzzedEnvironment))
		}
	}
}
