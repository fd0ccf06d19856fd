package token

import "testing"

// TestPeek reads of a token without a key what is in the clear, and of a ticket until when it is good.
func TestPeek(t *testing.T) {
	scope, sess := cart(t)
	for _, reveal := range []bool{false, true} {
		tok := mustMint(t, scope, sess, Minting{Now: noon, Reveal: reveal})
		p, ok := Peek(tok)
		if !ok || p.Hidden == reveal || p.Session.IssuedAt != sess.IssuedAt || p.Scope != uint32(scope.tag) ||
			(p.Session.Host == sess.Host) != reveal {
			t.Errorf("reveal %t: %+v and %t", reveal, p, ok)
		}
		if _, ok := Peek(tok[1:]); ok {
			t.Error("a piece of a token is one")
		}
	}
	ticket, err := scope.AppendTicket(nil, noon, noon+60)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := PeekTicket(string(ticket)); !ok || p.Ends != noon+60 || p.Scope != uint32(scope.tag) {
		t.Errorf("%+v and %t", p, ok)
	}
}

// TestDigests has a session be called by each key that signs while it goes on, once.
func TestDigests(t *testing.T) {
	secret := make([]byte, MinSecret)
	ring, err := NewRing([]Key{
		{ID: "late", Secret: secret, NotBefore: noon + 100},
		{ID: "brief", Secret: secret, NotBefore: noon + 50, NotAfter: noon + 60},
		{ID: "old", Secret: secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := ring.Scope("cart")
	for _, c := range []struct {
		from, to int64
		keys     []int
	}{{noon, noon, []int{2}}, {noon, noon + 59, []int{2, 1}}, {noon, noon + 100, []int{2, 1, 0}}, {noon + 70, noon + 99, []int{2}}} {
		all := s.Digests(7, c.from, c.to)
		if len(all) != len(c.keys) {
			t.Fatalf("from %d to %d: %v", c.from-noon, c.to-noon, all)
		}
		for i, d := range all {
			if d.Key != c.keys[i] || d.Text == "" {
				t.Errorf("from %d to %d: %v", c.from-noon, c.to-noon, all)
			}
		}
		if all[0].Text != string(s.AppendDigest(nil, 7, c.from)) {
			t.Errorf("the filter has another word than %s", all[0].Text)
		}
	}
	if all := s.Digests(0, noon, noon+100); all != nil {
		t.Errorf("a session without an id has %v", all)
	}
}
