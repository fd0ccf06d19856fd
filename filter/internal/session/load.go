package session

import (
	"errors"

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
	ring, errs := loadRing(cfg.Keys, getenv)
	if len(errs) > 0 {
		return nil, nil, errs
	}
	return &cfg, ring, nil
}

// loadRing reads the key ring from wherever the configuration says. No error contains what it read.
func loadRing(keys policyconfig.Keys, getenv func(string) string) (*token.Ring, []error) {
	if keys.Ring != nil {
		return newRing(*keys.Ring)
	}
	source, text := "keys.sealed", ""
	if keys.Sealed != "" {
		roots, err := token.ParseRoots(getenv(policyconfig.RootSecretEnv))
		if err != nil {
			return nil, []error{errors.New("keys.sealed: the environment variable " + policyconfig.RootSecretEnv + " " + err.Error())}
		}
		plain, err := token.Unseal(roots, keys.Sealed)
		if err != nil {
			return nil, []error{errors.New("keys.sealed: " + err.Error())}
		}
		text = string(plain)
	} else if source, text = "the environment variable "+keys.FromEnv, getenv(keys.FromEnv); text == "" {
		return nil, []error{errors.New("keys.fromEnv: the environment variable " + keys.FromEnv +
			" is empty; put a key ring there ('limpet keygen' prints one) and let Envoy's vm_config.environment_variables pass it on")}
	}
	ring, list := policyconfig.ParseKeyRing(text)
	if len(list) > 0 {
		errs := make([]error, 0, len(list))
		for _, e := range list {
			errs = append(errs, errors.New("key ring in "+source+": "+e.Error()))
		}
		return nil, errs
	}
	return newRing(ring)
}

func newRing(r policyconfig.KeyRing) (*token.Ring, []error) {
	keys := make([]token.Key, 0, len(r.Keys))
	for i := range r.Keys {
		k := &r.Keys[i]
		keys = append(keys, token.Key{ID: k.ID, Secret: k.Secret, NotBefore: int64(k.NotBefore), NotAfter: int64(r.EndOf(k))})
	}
	ring, err := token.NewRing(keys)
	if err != nil {
		return nil, []error{err}
	}
	return ring, nil
}
