package kubernetes

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/time/rate"
)

// tokenKeys are the keys with which an API server signs service accounts' tokens (RFC 7517). By them a token that
// somebody made up is told from others without asking the API server; whether one is good is for that to say.
type tokenKeys struct {
	// read asks the API server for them.
	read func(context.Context) ([]byte, error)
	log  *slog.Logger

	again   *rate.Limiter
	lock    sync.Mutex
	keys    map[string]any // by their ids
	failure string         // why they could not be read last
}

// readKeysAgain is how often keys are read while tokens come with ids that are not known.
const readKeysAgain = 10 * time.Second

func newTokenKeys(read func(context.Context) ([]byte, error), log *slog.Logger) *tokenKeys {
	return &tokenKeys{read: read, log: log, again: rate.NewLimiter(rate.Every(readKeysAgain), 1)}
}

// signature is what the keys say of a token.
type signature int

const (
	signatureUnknown signature = iota // the key is not known
	signatureGood
	signatureForged
)

// algorithms are those of API servers.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512}

// checkSignature says whether a token was signed by the API server.
func (k *tokenKeys) checkSignature(ctx context.Context, token *jwt.JSONWebToken) signature {
	key := k.findKey(ctx, token.Headers[0].KeyID)
	switch {
	case key == nil:
		return signatureUnknown
	case token.Claims(key) == nil:
		return signatureGood
	default:
		return signatureForged
	}
}

// findKey gives the key of an id, and reads the keys again if it is not there; nil for none.
func (k *tokenKeys) findKey(ctx context.Context, id string) any {
	k.lock.Lock()
	defer k.lock.Unlock()
	if key := k.keys[id]; key != nil || !k.again.Allow() {
		return key
	}
	k.lock.Unlock() // others need not wait for the API server
	text, err := k.read(ctx)
	k.lock.Lock()
	var set struct{ Keys []json.RawMessage }
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		if k.failure != err.Error() {
			k.failure = err.Error()
			k.log.Warn(
				"keys of service accounts' tokens can't be read; reviews of tokens are limited by address and account",
				"reason",
				err,
			)
		}
		return nil
	}
	k.keys = map[string]any{}
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(one, &key) == nil { // a kind that is not known takes no other's place
			k.keys[key.KeyID] = key.Key
		}
	}
	return k.keys[id]
}
