package token

// Judge is a policy's whole judgement of sessions that [Scope.Open] gave: its rules, what it revokes, and whose hosts
// are.
type Judge struct {
	Rules Rules
	// Revoked is nil where the policy revokes no single sessions, hosts and backends.
	Revoked *Revocations
	// Owners is nil where the policy says of no host whose it is.
	Owners *Owners
}

// Judge tells what becomes of a session at the time now, and on which host it is to go on: its own, or where its pod is
// by now. It returns what [Scope.Check] does, or Revoked, or HostReused; the host is zero unless the verdict is Valid.
func (j *Judge) Judge(s *Scope, sess *Session, now int64) (Host, Verdict) {
	if verdict := s.Check(*sess, j.Rules, now); verdict != Valid {
		return Host{}, verdict
	}
	if j.Revoked != nil && j.Revoked.has(sess, now) {
		return Host{}, Revoked
	}
	if j.Owners == nil {
		return sess.Host, Valid
	}
	host, ok := j.Owners.follow(sess)
	switch {
	case !ok:
		return Host{}, HostReused
	case j.Revoked != nil && j.Revoked.hasHost(host, sess.IssuedAt):
		return Host{}, Revoked
	}
	return host, Valid
}
