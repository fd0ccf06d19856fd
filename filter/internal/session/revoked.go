package session

import (
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// revoked are the single sessions and the hosts that a policy revokes; nil for none of both.
type revoked struct {
	sessions []policyconfig.RevokedSession
	// hosts are when the first session came to a host that is not void, and latest is the last of these times.
	hosts  map[token.Host]int64
	latest int64
}

// newRevoked reads what validation has read before.
func newRevoked(r *policyconfig.Revocation) *revoked {
	if len(r.Sessions)+len(r.Hosts) == 0 {
		return nil
	}
	list := &revoked{hosts: make(map[token.Host]int64, len(r.Hosts))}
	for _, text := range r.Sessions {
		if s, err := policyconfig.ParseRevokedSession(text); err == nil {
			list.sessions = append(list.sessions, s)
		}
	}
	for _, text := range r.Hosts {
		h, err := policyconfig.ParseRevokedHost(text)
		if err != nil {
			continue
		}
		// No token names a host that is none to the package; so none is let through.
		if host, err := token.ParseHost(h.Host); err == nil {
			list.hosts[host] = max(list.hosts[host], int64(h.Before))
			list.latest = max(list.latest, int64(h.Before))
		}
	}
	return list
}

// has reports whether an authentic session is revoked at the time now. A session began on its host: one that moves begins anew.
func (r *revoked) has(sess *token.Session, now int64) bool {
	for i := range r.sessions {
		if s := &r.sessions[i]; s.ID == sess.Parts.ID && (s.Until == 0 || now < int64(s.Until)) {
			return true
		}
	}
	return r.hasHost(sess.Host, sess.IssuedAt)
}

// hasHost reports whether a session is revoked that began at a time, if it is on a host.
func (r *revoked) hasHost(host token.Host, issuedAt int64) bool {
	return issuedAt < r.latest && issuedAt < r.hosts[host]
}
