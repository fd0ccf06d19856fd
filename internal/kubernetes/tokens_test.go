package kubernetes

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/serve"
)

// newTokens makes what has tokens judged by a function in place of an API server, and counts what that is asked.
func newTokens(t *testing.T, judge func(token string) (authenticationv1.TokenReviewStatus, error)) (tokens *Tokens, asked *int) {
	t.Helper()
	tokens, asked = &Tokens{Audience: "limpet.dev"}, new(int)
	if err := tokens.Begin(&rest.Config{Host: "127.0.0.1:1"}, NewSource(nil, slog.New(slog.DiscardHandler))); err != nil {
		t.Fatal(err)
	}
	tokens.keys.read = func(context.Context) ([]byte, error) { return nil, errors.New("there are none") }
	tokens.review = func(_ context.Context, r *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
		*asked++
		status, err := judge(r.Spec.Token)
		return &authenticationv1.TokenReview{Status: status}, err
	}
	return tokens, asked
}

// makeToken makes a token whose signature ends with a text.
func makeToken(subject, audience, signature string, ends time.Time) string {
	text := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"aud":%s,"exp":%d}`, subject, audience, ends.Unix())
	return text([]byte(`{"alg":"RS256"}`)) + "." + text([]byte(claims)) + "." + strings.Repeat("A", 3-(len(signature)+3)%4) + signature
}

// judgeKey says what keys make of a token; forged for what is none.
func judgeKey(t *testing.T, keys *tokenKeys, token string) signature {
	t.Helper()
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return signatureForged
	}
	return keys.checkSignature(t.Context(), parsed)
}

const (
	edgeAccount = "system:serviceaccount:shop:edge"
	ourAudience = `["limpet.dev"]`
)

func judgeSignature(token string) (s authenticationv1.TokenReviewStatus, err error) {
	s.Audiences = []string{"limpet.dev"}
	s.User.Username = edgeAccount
	s.Authenticated = strings.HasSuffix(token, "good")
	if strings.HasSuffix(token, "away") {
		err = errors.New("connection refused")
	}
	return s, err
}

// TestReview holds which tokens are good, how often the API server is asked for one, and for which it is not asked at all.
func TestReview(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		token, account, reason string
		asked                  int // for three times
	}{
		"good":                   {makeToken(edgeAccount, ourAudience, "good", later), "shop/edge", "", 1},
		"one audience":           {makeToken(edgeAccount, `"limpet.dev"`, "good", later), "shop/edge", "", 1},
		"bad":                    {makeToken(edgeAccount, ourAudience, "bad", later), "", "not valid", 1},
		"good, and ends at once": {makeToken(edgeAccount, ourAudience, "good", time.Now()), "shop/edge", "", 3},
		"of another account":     {makeToken("system:serviceaccount:shop:two", ourAudience, "good", later), "", "not that of a service account", 1},
		"of a user":              {makeToken("admin", ourAudience, "good", later), "", "not that of a service account", 0},
		"for another audience":   {makeToken(edgeAccount, `["other"]`, "good", later), "", "not for the audience limpet.dev", 0},
		"no token":               {"Bearer", "", "not that of a service account", 0},
		"large":                  {makeToken(edgeAccount, ourAudience, strings.Repeat("x", maxToken), later), "", "not that of a service account", 0},
		"the API server is away": {makeToken(edgeAccount, ourAudience, "away", later), "", serve.ErrUnavailable.Error(), 3},
	} {
		tokens, asked := newTokens(t, judgeSignature)
		for range 3 {
			account, err := tokens.Review(t.Context(), "192.0.2.1:1000", c.token)
			if account != c.account || (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%s: %q, %v; want %q, %q", name, account, err, c.account, c.reason)
			}
		}
		if *asked != c.asked {
			t.Errorf("%s: the API server was asked %d times, want %d", name, *asked, c.asked)
		}
	}
}

// TestReviewLimits: whoever shows thousands of tokens that look good has few of them reviewed. Others are meanwhile: those at other
// addresses, be they of one network, and at the same address those who say to be of another account.
func TestReviewLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, asked := newTokens(t, judgeSignature)
		later := time.Now().Add(time.Hour)
		show := func(address, account, signature string) error {
			_, err := tokens.Review(t.Context(), address, makeToken(account, ourAudience, signature, later))
			return err
		}
		for i := range 3 * maxJudged {
			if err := show(fmt.Sprintf("[2001:db8::1]:%d", 1000+i%1000), edgeAccount, fmt.Sprintf("%d-bad", i)); err == nil {
				t.Fatal("a bad token is good")
			}
		}
		if *asked > refusalsAtOnce+5 {
			t.Errorf("the API server was asked %d times", *asked)
		}
		for name, address := range map[string]string{"another": "192.0.2.1:1000", "neighbour": "[2001:db8::2]:1000"} {
			if err := show(address, edgeAccount, name+"-good"); err != nil {
				t.Errorf("a good one of %s address: %v", name, err)
			}
		}
		if err := show("[2001:db8::1]:999", "system:serviceaccount:bank:edge", "good"); !errors.Is(err, errNoAccount) {
			t.Errorf("one of another account at that address is not reviewed: %v", err) // the stand-in knows one account
		}
		for i := range 3 * maxJudged {
			_ = show("192.0.2.7:1", fmt.Sprintf("system:serviceaccount:shop:%d", i), "good")
		}
		if len(tokens.judged) > maxJudged || len(tokens.by) > maxJudged {
			t.Errorf("%d tokens and %d addresses with accounts are remembered", len(tokens.judged), len(tokens.by))
		}
	})
}

// signer makes tokens as an API server does.
type signer struct{ key *ecdsa.PrivateKey }

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{key}
}

// set is what the API server says of its key.
func (s signer) set(t *testing.T, id string) string {
	t.Helper()
	point, err := s.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"keys":[{"kty":"EC","kid":%q,"alg":"ES256","crv":"P-256","x":%q,"y":%q}]}`, id, text(point[1:33]), text(point[33:]))
}

// sign makes a token with the id of a key. What is in the claims besides makes it another one.
func (s signer) sign(t *testing.T, id, subject string, besides int) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"aud":%s,"exp":%d,"jti":"%d"}`, subject, ourAudience, time.Now().Add(time.Hour).Unix(), besides)
	signed := text([]byte(fmt.Sprintf(`{"alg":"ES256","kid":%q}`, id))) + "." + text([]byte(claims))
	hash := sha256.Sum256([]byte(signed))
	one, other, err := ecdsa.Sign(rand.Reader, s.key, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + text(slices.Concat(one.FillBytes(make([]byte, 32)), other.FillBytes(make([]byte, 32))))
}

// TestReviewSigned: while a neighbour at the same address floods with tokens that somebody made up, of the same account, those of the API
// server are all reviewed; the others are not, and where their key is not known few are.
func TestReviewSigned(t *testing.T) {
	ours, theirs := newSigner(t), newSigner(t)
	for name, id := range map[string]string{"with a key's id": "one", "with an id of their own": "other"} {
		synctest.Test(t, func(t *testing.T) {
			tokens, _ := newTokens(t, judgeSignature)
			read, asked := 0, map[bool]int{}
			tokens.keys.read = func(context.Context) ([]byte, error) { read++; return []byte(ours.set(t, "one")), nil }
			tokens.review = func(_ context.Context, r *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
				isOurs := judgeKey(t, tokens.keys, r.Spec.Token) == signatureGood
				asked[isOurs]++
				status, _ := judgeSignature("")
				status.Authenticated = isOurs
				return &authenticationv1.TokenReview{Status: status}, nil
			}
			for i := range 500 {
				if _, err := tokens.Review(t.Context(), "192.0.2.1:1000", theirs.sign(t, id, edgeAccount, i)); err == nil {
					t.Fatal("a token that somebody made up is good")
				}
				if i%10 > 0 {
					continue
				}
				if account, err := tokens.Review(t.Context(), "192.0.2.1:2000", ours.sign(t, "one", edgeAccount, i)); account != "shop/edge" {
					t.Errorf("%s: a good token at the same address: %v", name, err)
				}
			}
			if most := refusalsAtOnce + 5; asked[true] != 50 || asked[false] > most || id == "one" && asked[false] > 0 || read > 2 {
				t.Errorf("%s: %v are reviewed, and the keys read %d times", name, asked, read)
			}
		})
	}
}

// TestTokenKeys: a key that comes later is read, as often as tokens may ask for it, and one that is none is no key.
func TestTokenKeys(t *testing.T) {
	ours := newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		text, read := `{"keys":[{"kty":"RSA","kid":"one","n":"?","e":"AQAB"},{"kty":"EC","kid":"two","crv":"P-256","x":"AA","y":"AA"}]}`, 0
		keys := newTokenKeys(func(context.Context) ([]byte, error) { read++; return []byte(text), nil }, slog.New(slog.DiscardHandler))
		check := func(id string, want signature, reads int) {
			t.Helper()
			if got := judgeKey(t, keys, ours.sign(t, id, edgeAccount, 0)); got != want || read != reads {
				t.Errorf("%s: %v after %d reads; want %v after %d", id, got, read, want, reads)
			}
		}
		check("one", signatureUnknown, 1)
		text = strings.Replace(ours.set(t, "two"), `{"keys":[`, `{"keys":[{"kty":"later","kid":"of another kind"},`, 1)
		check("two", signatureUnknown, 1)
		time.Sleep(readKeysAgain)
		check("two", signatureGood, 2)
		check("three", signatureUnknown, 2)
	})
}

// TestTokenKeysRSA: so are those of most API servers.
func TestTokenKeysRSA(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	set := fmt.Sprintf(`{"keys":[{"kty":"RSA","kid":"k","n":%q,"e":"AQAB"}]}`, text(key.N.Bytes()))
	keys := newTokenKeys(func(context.Context) ([]byte, error) { return []byte(set), nil }, slog.New(slog.DiscardHandler))
	signed := text([]byte(`{"alg":"RS256","kid":"k"}`)) + "." + text([]byte("{}"))
	hash := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{
		signed + "." + text(signature): "1", signed + "." + text(signature[1:]): "2", signed + ".?": "2", "?.e30." + text(signature): "2",
		text([]byte(`{"alg":"none","kid":"k"}`)) + ".e30." + text(signature): "2", text([]byte(`{"alg":"ES256","kid":"k"}`)) + ".e30.": "2",
	} {
		if got := fmt.Sprint(judgeKey(t, keys, token)); got != want {
			t.Errorf("%.60s: %s, want %s", token, got, want)
		}
	}
}

// TestReviewLimitsAtOnce: that holds too for whoever shows them all at the same time, on many connections. Good ones of one address, as many
// Envoys behind a balancer show them, are all reviewed.
func TestReviewLimitsAtOnce(t *testing.T) {
	for signature, c := range map[string]struct{ shown, most, least int }{"bad": {2000, refusalsAtOnce + 5, 1}, "good": {400, 400, 400}} {
		synctest.Test(t, func(t *testing.T) {
			tokens, _ := newTokens(t, judgeSignature)
			later := time.Now().Add(time.Hour)
			var asked, good atomic.Int64
			tokens.review = func(_ context.Context, r *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
				asked.Add(1)
				time.Sleep(20 * time.Millisecond)
				status, err := judgeSignature(r.Spec.Token)
				return &authenticationv1.TokenReview{Status: status}, err
			}
			var all sync.WaitGroup
			for i := range c.shown {
				all.Go(func() {
					_, err := tokens.Review(t.Context(), "192.0.2.1:1000", makeToken(edgeAccount, ourAudience, fmt.Sprintf("%d-%s", i, signature), later))
					if err == nil {
						good.Add(1)
					}
				})
			}
			all.Wait()
			if n := int(asked.Load()); n > c.most || n < c.least {
				t.Errorf("of %d %s ones the API server was asked for %d, want %d to %d", c.shown, signature, n, c.least, c.most)
			}
			if signature == "good" && int(good.Load()) != c.shown {
				t.Errorf("of %d good ones %d are taken", c.shown, good.Load())
			}
		})
	}
}

// TestIsProxy holds which service accounts are those of a Gateway's proxies.
func TestIsProxy(t *testing.T) {
	tokens, _ := newTokens(t, judgeSignature)
	tokens.source.watches[gatewayKind] = &watch{}
	for name, annotations := range map[string]string{"plain": "{}", "named": `{"limpet.dev/proxy-service-account":"envoys"}`} {
		tokens.source.set(t.Context(), gatewayKind, &object{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, text: []byte(`{"metadata":{"annotations":` + annotations + `}}`),
		})
	}
	for _, c := range []struct {
		gateway, account string
		want             bool
	}{
		{"shop/plain", "shop/limpet-plain", true},
		{"shop/plain", "shop/envoys", false},
		{"shop/plain", "other/limpet-plain", false},
		{"shop/named", "shop/envoys", true},
		{"shop/named", "shop/limpet-named", false},
		{"shop/named", "other/envoys", false},
		{"shop/nowhere", "shop/limpet-nowhere", false},
		{"plain", "shop/limpet-plain", false},
		{"", "/limpet-", false},
	} {
		if got := tokens.IsProxy(c.gateway, c.account); got != c.want {
			t.Errorf("%s of %s: %v", c.account, c.gateway, got)
		}
	}
}
