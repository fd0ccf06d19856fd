package token

import "testing"

// TestJudge has one session on .1, which began at noon, and what a policy says of it and its host an hour later.
func TestJudge(t *testing.T) {
	scope, made := cart(t)
	made.Host = mustHost(t, "10.0.0.1:8080")
	made.Parts = Parts{ID: 7, Owner: 1, Backend: 5}
	sess, verdict := scope.Open(mustMint(t, scope, made, Minting{Now: noon}), noon)
	if verdict != Valid {
		t.Fatal(verdict)
	}
	named, nameless := sess, sess
	named.Parts.Named = true
	nameless.Parts.Backend = 0
	here, there := sess.Host, mustHost(t, "10.0.0.2:8080")
	const later = noon + 3600
	for name, c := range map[string]struct {
		sess  Session
		rules Rules
		say   func(*Revocations, *Owners)
		host  Host
		want  Verdict
	}{
		"nothing": {sess, Rules{}, nil, here, Valid},
		"epoch":   {sess, Rules{Epoch: 9}, nil, Host{}, Revoked},
		"timeout": {sess, Rules{AbsoluteTimeout: 60}, nil, Host{}, ExpiredAbsolute},
		"nothing of this one": {sess, Rules{}, func(r *Revocations, o *Owners) {
			r.AddSession(8, 0)
			r.AddHost(there, later)
			r.AddBackend(6, later)
			o.Add(there, 2, false)
		}, here, Valid},
		"session": {sess, Rules{}, func(r *Revocations, _ *Owners) {
			r.AddSession(7, 0)
		}, Host{}, Revoked},
		"session, still": {sess, Rules{}, func(r *Revocations, _ *Owners) {
			r.AddSession(7, later+1)
		}, Host{}, Revoked},
		"session, over": {sess, Rules{}, func(r *Revocations, _ *Owners) {
			r.AddSession(7, later)
		}, here, Valid},
		"host": {sess, Rules{}, func(r *Revocations, _ *Owners) {
			r.AddHost(here, sess.IssuedAt+1)
			r.AddHost(here, 1)
		}, Host{}, Revoked},
		"host, before it": {sess, Rules{}, func(r *Revocations, _ *Owners) {
			r.AddHost(here, sess.IssuedAt)
		}, here, Valid},
		"backend": {sess, Rules{}, func(r *Revocations, _ *Owners) {
			r.AddBackend(5, 1)
			r.AddBackend(5, sess.IssuedAt+1)
			r.AddBackend(6, 1)
		}, Host{}, Revoked},
		"backend, before it": {sess, Rules{}, func(r *Revocations, o *Owners) {
			r.AddBackend(5, sess.IssuedAt)
			r.AddBackend(6, later)
			o.Add(here, 1, false)
		}, here, Valid},
		"backend, of a session that names none": {nameless, Rules{}, func(r *Revocations, _ *Owners) {
			r.AddBackend(6, later)
		}, Host{}, Revoked},
		"own pod": {sess, Rules{}, func(_ *Revocations, o *Owners) {
			o.Add(here, 1, false)
		}, here, Valid},
		"another pod": {sess, Rules{}, func(_ *Revocations, o *Owners) {
			o.Add(here, 2, false)
		}, Host{}, HostReused},
		"named, elsewhere": {named, Rules{}, func(_ *Revocations, o *Owners) {
			o.Add(there, 1, true)
			o.Add(here, 2, true)
		}, there, Valid},
		"named, gone": {named, Rules{}, func(_ *Revocations, o *Owners) {
			o.Add(here, 2, true)
		}, Host{}, HostReused},
		"named, to a void one": {named, Rules{}, func(r *Revocations, o *Owners) {
			o.Add(there, 1, true)
			r.AddHost(there, later)
		}, Host{}, Revoked},
	} {
		j := Judge{Rules: c.rules}
		if c.say != nil {
			j.Revoked, j.Owners = &Revocations{}, &Owners{}
			c.say(j.Revoked, j.Owners)
		}
		host, verdict := j.Judge(scope, &c.sess, later)
		if host != c.host || verdict != c.want {
			t.Errorf("%s: %v and %v, want %v and %v", name, host, verdict, c.host, c.want)
		}
		if n := testing.AllocsPerRun(100, func() { j.Judge(scope, &c.sess, later) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
