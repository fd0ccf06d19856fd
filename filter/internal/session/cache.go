package session

import "github.com/limpet-proxy/limpet/token"

// cacheSize is how many authenticated tokens a worker remembers, a power of two.
const cacheSize = 1024

// cache remembers tokens whose signature held, so that a client's next request costs a comparison instead of
// an HMAC. Dates, epochs and retired keys are checked again on every use. It is a table of fixed places: what
// it holds is bounded in entries and bytes, and only tokens that we signed ever enter it, so forgeries
// cannot push others out. A new configuration comes with a new, empty cache.
type cache struct {
	entries   []cacheEntry
	appendPin func(dst, host []byte) []byte
	// text is the buffer for a host's text; put would allocate it again.
	text [MaxPin]byte
}

type cacheEntry struct {
	scope    uint64 // 0 in an empty place
	session  token.Session
	token    [token.MaxLen]byte
	pin      [MaxPin]byte
	tokenLen uint8
	pinLen   uint8
}

// prepare makes the entries, before the first use.
func (c *cache) prepare() {
	if c.entries == nil {
		c.entries = make([]cacheEntry, cacheSize)
	}
}

// get returns the entry of an authenticated token of that scope, or nil.
func (c *cache) get(scope uint64, tok string) *cacheEntry {
	e := &c.entries[place(tok)]
	if e.scope != scope || int(e.tokenLen) != len(tok) {
		return nil
	}
	// A plain comparison would tell a patient attacker how far a guess agrees with a valid token.
	if !equal(stringOf(e.token[:e.tokenLen]), tok) {
		return nil
	}
	return e
}

// put remembers a token that was authenticated or just minted, in place of whatever had its place.
func (c *cache) put(scope uint64, tok string, sess token.Session) *cacheEntry {
	e := &c.entries[place(tok)]
	e.scope, e.session = scope, sess
	e.tokenLen = uint8(copy(e.token[:], tok))
	e.pinLen = uint8(len(c.appendPin(e.pin[:0], sess.Host.AppendText(c.text[:0]))))
	return e
}

// place spreads tokens over the table by their last characters, which are the end of an HMAC.
func place(tok string) int {
	var h uint32
	for i := len(tok) - 8; i < len(tok); i++ {
		h = h*31 + uint32(tok[i])
	}
	return int((h ^ h>>16) & (cacheSize - 1))
}

// pinText is what the proxy's Pin takes. It is valid until the next put.
func (e *cacheEntry) pinText() string { return stringOf(e.pin[:e.pinLen]) }
