package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/proxies"
	"github.com/limpet-proxy/limpet/internal/serve"
)

// Tokens lets an API server review tokens that are bound to an audience. Other tokens cost it little: a malformed
// token, or one that the API server has not signed, is not sent there, and verdicts are remembered for a while. Where
// the signer is not known, an address may have few tokens of an account refused, and others are reviewed meanwhile.
type Tokens struct {
	// Audience is what a token must be for.
	Audience string

	source *Source
	review func(context.Context, *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error)
	keys   *tokenKeys
	// signed bounds the reviews of tokens that the API server has signed, and unsigned those of tokens whose signer is not
	// known.
	signed, unsigned *rate.Limiter

	lock     sync.Mutex
	judged   map[[sha256.Size]byte]judgement
	by       map[claim]*peerLimit
	accounts map[string]*rate.Limiter
}

// claim is an account of which a peer at an address says to be.
type claim struct {
	from    netip.Addr
	account string
}

// judgement is what became of a token.
type judgement struct {
	account string
	err     error
	until   time.Time
}

const (
	maxToken = 8 << 10
	// goodFor is how long a token that is good is not reviewed again, and badFor one that is not.
	goodFor = time.Minute
	badFor  = 10 * time.Second
	// maxJudged is how many are remembered, and as many addresses with accounts.
	maxJudged = 4096
	// reviewFor is how long a review may take, with its turn.
	reviewFor = 10 * time.Second
	// reviews is how many are made a second, after as many at once as Envoys may come back together, and accountReviews
	// how many of them for one account; unsignedReviews is how many for tokens of which nobody knows who signed them.
	reviews, reviewsAtOnce                 = 100, 500
	accountReviews, accountReviewsAtOnce   = 50, 400
	unsignedReviews, unsignedReviewsAtOnce = 50, 400
	// refusals is how many an address may have a second for an account, after some at once.
	refusals, refusalsAtOnce = 1, 10
)

// Begin says which API server reviews tokens, and where the Gateways are.
func (t *Tokens) Begin(config *rest.Config, source *Source) error {
	client, err := newClient(config, authenticationv1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	t.source = source
	t.review = func(ctx context.Context, asked *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
		answer := &authenticationv1.TokenReview{}
		request := client.Post().UseProtobufAsDefault().Resource("tokenreviews").Body(asked)
		return answer, request.Do(ctx).Into(answer)
	}
	t.keys = newTokenKeys(func(ctx context.Context) ([]byte, error) {
		return client.Get().AbsPath("/openid/v1/jwks").DoRaw(ctx)
	}, source.log)
	t.signed, t.unsigned = rate.NewLimiter(reviews, reviewsAtOnce), rate.NewLimiter(unsignedReviews, unsignedReviewsAtOnce)
	t.judged, t.by, t.accounts = map[[sha256.Size]byte]judgement{}, map[claim]*peerLimit{}, map[string]*rate.Limiter{}
	return nil
}

// Review returns the service account of a token.
func (t *Tokens) Review(ctx context.Context, address, token string) (account string, err error) {
	parsed, account, end, err := t.read(token)
	if err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(token))
	if known := t.recall(key); known != nil {
		return known.account, known.err
	}
	ctx, stop := context.WithTimeout(ctx, reviewFor)
	defer stop()
	limit, err := t.limit(ctx, parsed, address, account)
	if err != nil {
		return "", err
	}
	defer limit.end()
	answer, err := t.ask(ctx, token)
	if err != nil {
		return "", fmt.Errorf("%w: %w", serve.ErrUnavailable, err)
	}
	j := judgement{account: account, err: t.judgeReview(answer, account), until: time.Now().Add(goodFor)}
	if end.Before(j.until) {
		j.until = end
	}
	if j.err != nil {
		limit.refuse()
		j.account, j.until = "", time.Now().Add(badFor)
	}
	t.remember(key, j)
	return j.account, j.err
}

// recall returns the recent verdict about a token; nil if there is none.
func (t *Tokens) recall(key [sha256.Size]byte) *judgement {
	t.lock.Lock()
	defer t.lock.Unlock()
	if j, found := t.judged[key]; found && time.Now().Before(j.until) {
		return &j
	}
	return nil
}

// errForged says that the API server has not made a token.
var errForged = errors.New("the token is not signed by the API server")

// limit waits until it is a token's turn to be reviewed. The turn of a token that the API server has signed depends on
// its account alone: nobody else who claims the account, or shares its address, can delay it. limit returns nil then.
func (t *Tokens) limit(ctx context.Context, token *jwt.JSONWebToken, address, account string) (*peerLimit, error) {
	switch t.keys.checkSignature(ctx, token) {
	case signatureForged:
		return nil, errForged
	case signatureGood:
		if err := errors.Join(t.limitOf(account).Wait(ctx), t.signed.Wait(ctx)); err != nil {
			return nil, fmt.Errorf("%w: %w", serve.ErrUnavailable, err)
		}
		return nil, nil //nolint:nilnil // there is no limit
	}
	by := t.limitBy(address, account)
	if !by.begin(ctx) {
		return nil, fmt.Errorf("%w: too many of this address and account were refused, or wait", serve.ErrUnavailable)
	}
	if err := t.unsigned.Wait(ctx); err != nil {
		by.end()
		return nil, fmt.Errorf("%w: %w", serve.ErrUnavailable, err)
	}
	return by, nil
}

// ask has the API server review a token.
func (t *Tokens) ask(ctx context.Context, token string) (authenticationv1.TokenReviewStatus, error) {
	answer, err := t.review(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{t.Audience}},
	})
	if err != nil {
		return authenticationv1.TokenReviewStatus{}, err
	}
	return answer.Status, nil
}

// judgeReview says what is wrong with a token that says to be of a service account.
func (t *Tokens) judgeReview(s authenticationv1.TokenReviewStatus, account string) error {
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

// read parses a token: its account, and when it ends. Its claims are not trusted, but a token that claims another
// audience is refused.
func (t *Tokens) read(token string) (parsed *jwt.JSONWebToken, account string, end time.Time, err error) {
	if len(token) > maxToken {
		return nil, "", end, errNoAccount
	}
	var claims jwt.Claims
	if parsed, err = jwt.ParseSigned(token, algorithms); err == nil {
		err = parsed.UnsafeClaimsWithoutVerification(&claims)
	}
	rest, is := strings.CutPrefix(claims.Subject, accountPrefix)
	namespace, name, both := strings.Cut(rest, ":")
	switch {
	case err != nil || !is || !both || namespace == "" || name == "":
		return nil, "", end, errNoAccount
	case !claims.Audience.Contains(t.Audience):
		return nil, "", end, fmt.Errorf("the token is not for the audience %s", t.Audience)
	default:
		return parsed, namespace + "/" + name, claims.Expiry.Time(), nil
	}
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

// limitBy is the limiter of an account at an address.
func (t *Tokens) limitBy(address, account string) *peerLimit {
	at, _ := netip.ParseAddrPort(address)
	return limitIn(t, t.by, claim{at.Addr().Unmap(), account}, newPeerLimit)
}

// limitOf is the limiter of an account, wherever it is.
func (t *Tokens) limitOf(account string) *rate.Limiter {
	return limitIn(
		t,
		t.accounts,
		account,
		func() *rate.Limiter { return rate.NewLimiter(accountReviews, accountReviewsAtOnce) },
	)
}

func limitIn[K comparable, V any](t *Tokens, in map[K]*V, key K, make func() *V) *V {
	t.lock.Lock()
	defer t.lock.Unlock()
	if in[key] == nil {
		if len(in) >= maxJudged {
			clear(in)
		}
		in[key] = make()
	}
	return in[key]
}

// IsProxy tells whether a service account is that of a Gateway's proxies: one of the Gateway's own namespace, which its
// annotation names, or else is named after it.
func (t *Tokens) IsProxy(gateway, account string) bool {
	namespace, name, _ := strings.Cut(gateway, "/")
	o, _, err := t.source.findObject(gatewayKind, namespace, name)
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
