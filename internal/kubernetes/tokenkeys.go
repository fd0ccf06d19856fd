package kubernetes

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	_ "crypto/sha256" // what tokens are signed with
	_ "crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// tokenKeys are the keys with which an API server signs service accounts' tokens (RFC 7517). By them a token that somebody made up is told
// from others without asking the API server; whether one is good is for that to say.
type tokenKeys struct {
	// read asks the API server for them.
	read func(context.Context) ([]byte, error)
	log  *slog.Logger

	again *rate.Limiter
	lock  sync.Mutex
	keys  map[string]crypto.PublicKey // by their ids
	said  string                      // why they could not be read last
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

// check says whether a token was signed by the API server.
func (k *tokenKeys) check(ctx context.Context, token string) signature {
	var header struct{ Alg, Kid string }
	at := strings.LastIndexByte(token, '.')
	head, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || json.Unmarshal(text, &header) != nil {
		return signatureForged
	}
	signed, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	if err != nil {
		return signatureForged
	}
	key := k.find(ctx, header.Kid)
	switch {
	case key == nil:
		return signatureUnknown
	case isSigned(key, header.Alg, []byte(token[:at]), signed):
		return signatureGood
	default:
		return signatureForged
	}
}

// find gives the key of an id, and reads the keys again if it is not there; nil for none.
func (k *tokenKeys) find(ctx context.Context, id string) crypto.PublicKey {
	k.lock.Lock()
	defer k.lock.Unlock()
	if key := k.keys[id]; key != nil || !k.again.Allow() {
		return key
	}
	k.lock.Unlock() // others need not wait for the API server
	text, err := k.read(ctx)
	k.lock.Lock()
	var set struct {
		Keys []struct{ Kty, Kid, N, E, Crv, X, Y string }
	}
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		if k.said != err.Error() {
			k.said = err.Error()
			k.log.Warn("keys of service accounts' tokens can't be read; reviews of tokens are limited by address and account", "reason", err)
		}
		return nil
	}
	k.keys = map[string]crypto.PublicKey{}
	for _, one := range set.Keys {
		switch one.Kty {
		case "RSA":
			k.keys[one.Kid] = readRSA(one.N, one.E)
		case "EC":
			k.keys[one.Kid] = readEC(one.Crv, one.X, one.Y)
		}
	}
	return k.keys[id]
}

// The keys of a kind; nil, which is no key, for what is none.
func readRSA(n, e string) crypto.PublicKey {
	modulus, err := base64.RawURLEncoding.DecodeString(n)
	exponent, failed := base64.RawURLEncoding.DecodeString(e)
	if err != nil || failed != nil || len(exponent) > 4 || len(modulus) == 0 {
		return nil
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: int(new(big.Int).SetBytes(exponent).Int64())}
}

var curves = map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}

func readEC(curve, x, y string) crypto.PublicKey {
	one, err := base64.RawURLEncoding.DecodeString(x)
	other, failed := base64.RawURLEncoding.DecodeString(y)
	if err != nil || failed != nil || curves[curve] == nil {
		return nil
	}
	key, err := ecdsa.ParseUncompressedPublicKey(curves[curve], slices.Concat([]byte{4}, one, other))
	if err != nil {
		return nil
	}
	return key
}

// hashes are those of the algorithms (RFC 7518), but for their first two letters.
var hashes = map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}

// isSigned tells whether a text has a signature of a key.
func isSigned(key crypto.PublicKey, algorithm string, text, signed []byte) bool {
	family, size := algorithm[:min(2, len(algorithm))], algorithm[min(2, len(algorithm)):]
	hash, is := hashes[size]
	if !is {
		return false
	}
	h := hash.New()
	h.Write(text)
	switch key := key.(type) {
	case *rsa.PublicKey:
		return family == "RS" && rsa.VerifyPKCS1v15(key, hash, h.Sum(nil), signed) == nil
	case *ecdsa.PublicKey:
		half := len(signed) / 2
		r, s := new(big.Int).SetBytes(signed[:half]), new(big.Int).SetBytes(signed[half:])
		return family == "ES" && ecdsa.Verify(key, h.Sum(nil), r, s)
	default:
		return false
	}
}
