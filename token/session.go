package token

// Session is what a token says. Sessions compare with ==.
type Session struct {
	// Host is the backend that the session lives on.
	Host Host
	// IssuedAt is when the session began, LastSeen when it was last seen, in Unix seconds.
	IssuedAt, LastSeen int64
	// Epoch is the policy's revocation epoch when the token was made.
	Epoch uint32
	// Parts are what else the token says; the zero Parts are none.
	Parts Parts

	key tag // which key signed; set by Open
}

// Rules are a policy's demands on a session.
type Rules struct {
	// AbsoluteTimeout ends a session that long after it began, IdleTimeout that long after it was last seen.
	// Seconds; 0 is never.
	AbsoluteTimeout, IdleTimeout int64
	// Skew is how many seconds in the future a token's times may lie, for proxies' clocks differ.
	Skew int64
	// Epoch voids sessions of any other epoch.
	Epoch uint32
	// NotBefore voids sessions that began before it. Unix seconds; 0 voids none.
	NotBefore int64
}

// Check judges a session that [Scope.Open] gave, now or earlier, at the time now. It returns Valid, UnknownKey (the key
// has been retired since, or the session comes from elsewhere), Revoked, NotYetValid, ExpiredAbsolute or ExpiredIdle.
func (s *Scope) Check(sess Session, r Rules, now int64) Verdict {
	switch {
	case s.dates.findKey(sess.key, now) < 0:
		return UnknownKey
	case sess.Epoch != r.Epoch || sess.IssuedAt < r.NotBefore:
		return Revoked
	case isAhead(sess.IssuedAt, now, r.Skew) || isAhead(sess.LastSeen, now, r.Skew):
		return NotYetValid
	case hasElapsed(r.AbsoluteTimeout, sess.IssuedAt, now):
		return ExpiredAbsolute
	case hasElapsed(r.IdleTimeout, sess.LastSeen, now):
		return ExpiredIdle
	}
	return Valid
}

// isAhead tells whether a moment lies more than some seconds after now. The clock may say anything: where the moment is
// the later one, their difference fits without sign.
func isAhead(at, now, seconds int64) bool {
	return at > now && uint64(at)-uint64(now) > uint64(max(seconds, 0))
}

// hasElapsed tells whether a timeout, which 0 is none, is over since a moment, which is not before 1970.
func hasElapsed(timeout, since, now int64) bool {
	return timeout > 0 && now >= since && now-since >= timeout
}

// Verify opens the token and checks its session. The Session is zero unless the verdict is Valid.
func (s *Scope) Verify(tok string, r Rules, now int64) (Session, Verdict) {
	sess, verdict := s.Open(tok, now)
	if verdict != Valid {
		return Session{}, verdict
	}
	if verdict = s.Check(sess, r, now); verdict != Valid {
		return Session{}, verdict
	}
	return sess, Valid
}

// Signed returns the session as Open returns it for a token that Append minted for it at now. While no key signs it is
// the session of an unknown key.
func (s *Scope) Signed(sess Session, now int64) Session {
	sess.key = 0
	if i := s.dates.signer(now); i >= 0 {
		sess.key = s.dates[i].tag
	}
	return sess
}

// Stale reports whether another key signs at now than the one that signed the session's token, so that the
// token should be made again while both verify. While no key signs, nothing is stale.
func (s *Scope) Stale(sess Session, now int64) bool {
	i := s.dates.signer(now)
	return i >= 0 && s.dates[i].tag != sess.key
}
