package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedauthenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/proxies"
	"github.com/limpet-proxy/limpet/internal/serve"
)

// Tokens has an API server review tokens that were bound to an audience. Whoever shows others costs it little: what is no such token
// at first sight is not sent to the API server, what has been judged is remembered for a while, and an address whose tokens are
// refused may show few.
type Tokens struct {
	// Audience is what a token must be for.
	Audience string

	source *Source
	review func(context.Context, *authenticationv1.TokenReview, metav1.CreateOptions) (*authenticationv1.TokenReview, error)
	all    *rate.Limiter

	lock   sync.Mutex
	judged map[[sha256.Size]byte]judgement
	by     map[netip.Addr]*peerLimit
}

// peerLimit bounds what an address may have reviewed: as much at a time as it may have refused.
type peerLimit struct {
	refusals *rate.Limiter
	turns    chan struct{}
	// underWay are the reviews that have not come to an end, each of which may be a refusal.
	underWay atomic.Int64
}

func newPeerLimit() *peerLimit {
	return &peerLimit{refusals: rate.NewLimiter(refusals, refusalsAtOnce), turns: make(chan struct{}, refusalsAtOnce)}
}

// begin waits for a turn; false if the address has none.
func (l *peerLimit) begin(ctx context.Context) bool {
	select {
	case l.turns <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if l.refusals.Tokens() < float64(l.underWay.Add(1)) {
		l.end()
		return false
	}
	return true
}

func (l *peerLimit) end() {
	l.underWay.Add(-1)
	<-l.turns
}

// judgement is what became of a token.
type judgement struct {
	account string
	err     error
	until   time.Time
}

const (
	maxToken = 16 << 10
	// goodFor is how long a token that is good is not reviewed again, and badFor one that is not.
	goodFor = time.Minute
	badFor  = 10 * time.Second
	// maxJudged is how many are remembered, and as many addresses.
	maxJudged = 4096
	// reviewFor is how long a review may take, with its turn.
	reviewFor = 10 * time.Second
	// reviews is how many are made a second, after as many at once as Envoys may come back together.
	reviews, reviewsAtOnce = 100, 500
	// refusals is how many an address may have a second, after some at once.
	refusals, refusalsAtOnce = 1, 10
)

// Begin says which API server reviews tokens, and where the Gateways are.
func (t *Tokens) Begin(config *rest.Config, source *Source) error {
	client, err := typedauthenticationv1.NewForConfig(config)
	if err != nil {
		return err
	}
	t.source, t.review = source, client.TokenReviews().Create
	t.all = rate.NewLimiter(reviews, reviewsAtOnce)
	t.judged, t.by = map[[sha256.Size]byte]judgement{}, map[netip.Addr]*peerLimit{}
	return nil
}

// Review gives the service account whose token it is.
func (t *Tokens) Review(ctx context.Context, address, token string) (account string, err error) {
	account, end, err := t.readAccount(token)
	if err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(token))
	known, limit := t.recall(key, address)
	if known != nil {
		return known.account, known.err
	}
	ctx, stop := context.WithTimeout(ctx, reviewFor)
	defer stop()
	if !limit.begin(ctx) {
		return "", fmt.Errorf("%w: too many of this address were refused, or wait", serve.ErrUnavailable)
	}
	defer limit.end()
	answer, err := t.ask(ctx, token)
	if err != nil {
		return "", fmt.Errorf("%w: %w", serve.ErrUnavailable, err)
	}
	j := judgement{account: account, err: t.judge(answer, account), until: time.Now().Add(goodFor)}
	if end.Before(j.until) {
		j.until = end
	}
	if j.err != nil {
		limit.refusals.Allow()
		j.account, j.until = "", time.Now().Add(badFor)
	}
	t.remember(key, j)
	return j.account, j.err
}

// recall gives what became of a token a short while ago, nil if that is not known, and the limiter of an address.
func (t *Tokens) recall(key [sha256.Size]byte, address string) (*judgement, *peerLimit) {
	t.lock.Lock()
	defer t.lock.Unlock()
	limit := t.limitOf(address)
	if j, found := t.judged[key]; found && time.Now().Before(j.until) {
		return &j, limit
	}
	return nil, limit
}

// ask has the API server review a token, when it is its turn.
func (t *Tokens) ask(ctx context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
	if err := t.all.Wait(ctx); err != nil {
		return authenticationv1.TokenReviewStatus{}, err
	}
	answer, err := t.review(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{t.Audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.TokenReviewStatus{}, err
	}
	return answer.Status, nil
}

// judge says what is wrong with a token that says to be of a service account.
func (t *Tokens) judge(s authenticationv1.TokenReviewStatus, account string) error {
	namespace, name, _ := strings.Cut(account, "/")
	switch {
	case !s.Authenticated:
		return errors.New("the token is not valid, or not any more")
	case !slices.Contains(s.Audiences, t.Audience):
		return fmt.Errorf("the token is not for the audience %s", t.Audience)
	case s.User.Username != accountPrefix+namespace+":"+name:
		return errNoAccount
	default:
		return nil
	}
}

// accountPrefix begins the name of a user that is a service account.
const accountPrefix = "system:serviceaccount:"

// errNoAccount says that a token is of another kind.
var errNoAccount = errors.New("the token is not that of a service account")

// readAccount reads what a token says itself, of whom it is and until when. Nothing is believed of it: one that is not for us by
// its own words is refused.
func (t *Tokens) readAccount(token string) (account string, end time.Time, err error) {
	if len(token) > maxToken {
		return "", end, errNoAccount
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", end, errNoAccount
	}
	var claims struct {
		Subject  string   `json:"sub"`
		Audience audience `json:"aud"`
		End      int64    `json:"exp"`
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return "", end, errNoAccount
	}
	rest, is := strings.CutPrefix(claims.Subject, accountPrefix)
	namespace, name, both := strings.Cut(rest, ":")
	switch {
	case !is || !both || namespace == "" || name == "":
		return "", end, errNoAccount
	case !slices.Contains(claims.Audience, t.Audience):
		return "", end, fmt.Errorf("the token is not for the audience %s", t.Audience)
	default:
		return namespace + "/" + name, time.Unix(claims.End, 0), nil
	}
}

// audience is whom a token is for, which may be one or several (RFC 7519).
type audience []string

func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// remember keeps a judgement, for a while.
func (t *Tokens) remember(key [sha256.Size]byte, j judgement) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if len(t.judged) >= maxJudged {
		clear(t.judged)
	}
	t.judged[key] = j
}

// limitOf is the limiter of an address, or of a network of IPv6, of which one machine may have all.
func (t *Tokens) limitOf(address string) *peerLimit {
	at, _ := netip.ParseAddrPort(address)
	from := at.Addr().Unmap()
	if from.Is6() {
		prefix, _ := from.Prefix(64)
		from = prefix.Addr()
	}
	if t.by[from] == nil {
		if len(t.by) >= maxJudged {
			clear(t.by)
		}
		t.by[from] = newPeerLimit()
	}
	return t.by[from]
}

// IsProxy tells whether a service account is that of a Gateway's proxies: one of the Gateway's own namespace, which its annotation
// names, or else is named after it.
func (t *Tokens) IsProxy(gateway, account string) bool {
	namespace, name, _ := strings.Cut(gateway, "/")
	o, _, err := t.source.find(gatewayKind, namespace, name)
	if err != nil {
		return false
	}
	var fields struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal(o.text, &fields) != nil {
		return false
	}
	return account == namespace+"/"+proxies.AccountName(name, fields.Metadata.Annotations)
}
