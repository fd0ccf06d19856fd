package kubernetes

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
	tokens.review = func(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
		*asked++
		status, err := judge(r.Spec.Token)
		return &authenticationv1.TokenReview{Status: status}, err
	}
	return tokens, asked
}

// makeToken makes a token whose signature is a text.
func makeToken(subject, audience, signature string, ends time.Time) string {
	claims := fmt.Sprintf(`{"sub":%q,"aud":%s,"exp":%d}`, subject, audience, ends.Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + "." + signature
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

// TestReviewLimits: whoever shows thousands of tokens that look good has few of them reviewed, and others are reviewed meanwhile.
func TestReviewLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, asked := newTokens(t, judgeSignature)
		later := time.Now().Add(time.Hour)
		show := func(address, signature string) error {
			_, err := tokens.Review(t.Context(), address, makeToken(edgeAccount, ourAudience, signature, later))
			return err
		}
		for i := range 3 * maxJudged {
			if err := show(fmt.Sprintf("[2001:db8::%x]:%d", i, 1000+i%1000), fmt.Sprintf("%d-bad", i)); err == nil {
				t.Fatal("a bad token is good")
			}
		}
		if *asked > refusalsAtOnce+5 {
			t.Errorf("the API server was asked %d times", *asked)
		}
		if err := show("192.0.2.1:1000", "good"); err != nil {
			t.Errorf("a good one of another address: %v", err)
		}
		if len(tokens.judged) > maxJudged || len(tokens.by) > maxJudged {
			t.Errorf("%d tokens and %d addresses are remembered", len(tokens.judged), len(tokens.by))
		}
	})
}

// TestReviewLimitsAtOnce: that holds too for whoever shows them all at the same time, on many connections. Good ones of one address, as many
// Envoys behind a balancer show them, are all reviewed.
func TestReviewLimitsAtOnce(t *testing.T) {
	for signature, c := range map[string]struct{ shown, most, least int }{"bad": {2000, refusalsAtOnce + 5, 1}, "good": {400, 400, 400}} {
		synctest.Test(t, func(t *testing.T) {
			tokens, _ := newTokens(t, judgeSignature)
			later := time.Now().Add(time.Hour)
			var asked, good atomic.Int64
			tokens.review = func(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
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
