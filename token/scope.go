package token

// Scope opens, checks and mints the tokens of one scope. Its tokens are void in every other scope, for each
// scope has keys of its own. It is not safe for concurrent use: it works in its own memory, so that it need not
// allocate any.
type Scope struct {
	dates dates
	tag   tag
	keys  []scopeKey // parallel to dates
	work  *work      // made on first use: of 10,000 scopes in a filter most are idle
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
	s := &Scope{dates: r.dates, tag: makeTag(labelScope, name), keys: make([]scopeKey, len(r.secrets))}
	from := derivationOf(name)
	for i := range r.secrets {
		mac, host := r.secrets[i].derive(&from)
		s.keys[i] = scopeKey{newMACKey(mac[:]), host}
	}
	return s
}

// derivation is what the two keys of a scope are derived from, whichever the key of the ring: a filter has thousands of
// scopes.
type derivation struct{ mac, host []byte }

func derivationOf(scope string) derivation {
	return derivation{[]byte(labelMAC + scope), []byte(labelHost + scope)}
}

// derive gives the two keys of a scope, K_mac and K_host.
func (k *macKey) derive(from *derivation) (mac, host [hashLen]byte) {
	return k.mac(from.mac), k.mac(from.host)
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
