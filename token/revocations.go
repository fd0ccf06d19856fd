package token

// Revocations are single sessions, and hosts and backends whose sessions are void. The zero value has none.
type Revocations struct {
	sessions []revokedSession
	// hosts are when the first session came to a host that is not void, and latest is the last of these times.
	hosts  map[Host]int64
	latest int64
	// backends are the same by the tags of backends.
	backends         []revokedBackend
	latestOfBackends int64
}

type revokedSession struct {
	id    uint64
	until int64
}

type revokedBackend struct {
	tag    uint32
	before int64
}

// AddSession revokes the session of an id, until it has ended anyway; 0 is never.
func (r *Revocations) AddSession(id uint64, until int64) {
	r.sessions = append(r.sessions, revokedSession{id, until})
}

// AddHost revokes the sessions that came to a host before a time.
func (r *Revocations) AddHost(host Host, before int64) {
	if r.hosts == nil {
		r.hosts = map[Host]int64{}
	}
	r.hosts[host] = max(r.hosts[host], before)
	r.latest = max(r.latest, before)
}

// AddBackend revokes the sessions that came to a backend before a time, by its tag ([BackendTag]). Those that name no
// backend may be of any.
func (r *Revocations) AddBackend(tag uint32, before int64) {
	r.backends = append(r.backends, revokedBackend{tag, before})
	r.latestOfBackends = max(r.latestOfBackends, before)
}

// has reports whether an authentic session is revoked at the time now. A session began on its host: one that moves
// begins again.
func (r *Revocations) has(sess *Session, now int64) bool {
	for i := range r.sessions {
		if s := &r.sessions[i]; s.id == sess.Parts.ID && (s.until == 0 || now < s.until) {
			return true
		}
	}
	return r.hasHost(sess.Host, sess.IssuedAt) || r.hasBackend(sess)
}

// hasHost reports whether a session is revoked that began at a time, if it is on a host.
func (r *Revocations) hasHost(host Host, issuedAt int64) bool {
	return issuedAt < r.latest && issuedAt < r.hosts[host]
}

// hasBackend reports whether a session is revoked with its backend.
func (r *Revocations) hasBackend(sess *Session) bool {
	if sess.IssuedAt >= r.latestOfBackends {
		return false
	}
	for _, b := range r.backends {
		if sess.IssuedAt < b.before && (sess.Parts.Backend == b.tag || sess.Parts.Backend == 0) {
			return true
		}
	}
	return false
}
