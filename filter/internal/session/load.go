package session

import (
	"errors"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Load turns the filter's JSON into an engine, or says everything that is wrong with it.
func Load(data string, getenv func(string) string, proxy Proxy) (*policyconfig.Config, *Engine, []error) {
	cfg, keys, errs := Read(data, getenv)
	if len(errs) > 0 {
		return nil, nil, errs
	}
	engine, err := New(cfg, keys, proxy)
	if err != nil {
		return nil, nil, []error{err}
	}
	return cfg, engine, nil
}

// Keys is where the keys of scopes come from: a ring, or, without one, sealed with the routes, under one of some root
// secrets.
type Keys struct {
	ring  *token.Ring
	roots []token.Root
}

// RingKeys are the keys of a ring that was read elsewhere.
func RingKeys(ring *token.Ring) Keys { return Keys{ring: ring} }

// Fingerprint tells the key ring from others; 0 where there is none.
func (k Keys) Fingerprint() token.Fingerprint {
	if k.ring == nil {
		return 0
	}
	return k.ring.Fingerprint()
}

// Read reads the filter's JSON and its keys; several engines may be made of them. What it returns keeps pieces of the
// JSON and does not change.
func Read(data string, getenv func(string) string) (*policyconfig.Config, Keys, []error) {
	cfg, list := policyconfig.Parse(data)
	errs := make([]error, 0, len(list)+1)
	for _, e := range list {
		errs = append(errs, e)
	}
	if len(errs) > 0 {
		return nil, Keys{}, errs
	}
	keys, errs := readKeys(&cfg.Keys, getenv)
	if len(errs) > 0 {
		return nil, Keys{}, errs
	}
	return &cfg, keys, nil
}

func readKeys(from *policyconfig.Keys, getenv func(string) string) (Keys, []error) {
	if from.Gateway != "" {
		roots, err := token.ParseRoots(getenv(from.EnvironmentVariable()))
		if err != nil {
			return Keys{}, []error{
				errors.New("keys.gateway: the environment variable " + from.EnvironmentVariable() + ": " + err.Error()),
			}
		}
		return Keys{roots: token.GatewayRoots(roots, from.Gateway)}, nil
	}
	ring, errs := from.Load(getenv, token.UnsealText)
	if len(errs) > 0 {
		return Keys{}, errs
	}
	made, err := newRing(ring)
	if err != nil {
		return Keys{}, []error{err}
	}
	return Keys{ring: made}, nil
}

func newRing(r policyconfig.KeyRing) (*token.Ring, error) {
	keys := make([]token.Key, 0, len(r.Keys))
	for i := range r.Keys {
		k := &r.Keys[i]
		keys = append(keys, token.Key{ID: k.ID, Secret: k.Secret, NotBefore: int64(k.NotBefore), NotAfter: int64(r.EndOf(k))})
	}
	return token.NewRing(keys)
}
