package session

import (
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Load turns the filter's JSON into an engine, or says everything that is wrong with it.
func Load(data string, getenv func(string) string, proxy Proxy) (*policyconfig.Config, *Engine, []error) {
	cfg, ring, errs := Read(data, getenv)
	if len(errs) > 0 {
		return nil, nil, errs
	}
	engine, err := New(cfg, ring, proxy)
	if err != nil {
		return nil, nil, []error{err}
	}
	return cfg, engine, nil
}

// Read reads the filter's JSON and its keys, of which several engines may be made. What it returns keeps pieces of the
// JSON and does not change.
func Read(data string, getenv func(string) string) (*policyconfig.Config, *token.Ring, []error) {
	cfg, list := policyconfig.Parse(data)
	errs := make([]error, 0, len(list)+1)
	for _, e := range list {
		errs = append(errs, e)
	}
	if len(errs) > 0 {
		return nil, nil, errs
	}
	keys, errs := cfg.Keys.Load(getenv, token.UnsealText)
	if len(errs) > 0 {
		return nil, nil, errs
	}
	ring, err := newRing(keys)
	if err != nil {
		return nil, nil, []error{err}
	}
	return &cfg, ring, nil
}

func newRing(r policyconfig.KeyRing) (*token.Ring, error) {
	keys := make([]token.Key, 0, len(r.Keys))
	for i := range r.Keys {
		k := &r.Keys[i]
		keys = append(keys, token.Key{ID: k.ID, Secret: k.Secret, NotBefore: int64(k.NotBefore), NotAfter: int64(r.EndOf(k))})
	}
	return token.NewRing(keys)
}
