package session

import (
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// newRevoked reads what validation has read before; nil for none.
func newRevoked(r *policyconfig.Revocation) *token.Revocations {
	if len(r.Sessions)+len(r.Hosts)+len(r.Backends) == 0 {
		return nil
	}
	list := &token.Revocations{}
	for _, text := range r.Sessions {
		if s, err := policyconfig.ParseRevokedSession(text); err == nil {
			list.AddSession(s.ID, int64(s.Until))
		}
	}
	for _, text := range r.Hosts {
		h, err := policyconfig.ParseRevokedHost(text)
		if err != nil {
			continue
		}
		// No token names a host that is none to the package; so none is let through.
		if host, err := token.ParseHost(h.Host); err == nil {
			list.AddHost(host, int64(h.Before))
		}
	}
	for _, text := range r.Backends {
		if b, err := policyconfig.ParseRevokedBackend(text); err == nil {
			list.AddBackend(b.Tag, int64(b.Before))
		}
	}
	return list
}
