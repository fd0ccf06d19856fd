package token

// Scope opens, checks and mints the tokens of one scope. Its tokens are void in every other scope, for each
// scope has keys of its own. It is not safe for concurrent use: it works in its own memory, so that it need not
// allocate any.
type Scope struct {
	ring *Ring
	tag  tag
	keys []scopeKey // parallel to ring.keys
	work *work      // made on first use: of 10,000 scopes in a filter most are idle
}

// scopeKey is what a scope derives from one key of the ring.
type scopeKey struct {
	mac  macKey
	host [32]byte // ChaCha20
}

// work is a scope's working memory.
type work struct {
	text [MaxLen]byte
	raw  [rawMax]byte
}

// Scope derives the keys of a scope, for instance "HTTPRoute/default/cart/rule/0". For each key of
// the ring it hashes six blocks, more for a long name, and keeps 96 bytes.
func (r *Ring) Scope(name string) *Scope {
	s := &Scope{ring: r, tag: makeTag(labelScope, name), keys: make([]scopeKey, len(r.keys))}
	forMAC, forHost := []byte(labelMAC+name), []byte(labelHost+name)
	for i := range r.keys {
		secret := &r.keys[i].secret
		mac := secret.mac(forMAC)
		s.keys[i].mac, s.keys[i].host = newMACKey(mac[:]), secret.mac(forHost)
	}
	return s
}

// Prepare makes the working memory now, for a caller that must know when memory is taken.
func (s *Scope) Prepare() { s.memory() }

// memory returns the working memory.
func (s *Scope) memory() *work {
	if s.work == nil {
		s.work = &work{}
	}
	return s.work
}
