package session

import (
	"encoding/base64"
	"encoding/binary"
	"testing"
)

// TestForgeriesNeverEnterTheCache: after 100,000 forged tokens, which aim at every place of the cache, it holds the
// one good token and nothing else, so that token still costs no signature.
func TestForgeriesNeverEnterTheCache(t *testing.T) {
	e := engine(t, 1)
	p := policyOf(e)
	cookie := issued(t, e)
	good := cookie[len("sid="):]
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	places := map[int]bool{}
	var x Exchange
	for i := range 100_000 {
		var random [24]byte
		binary.BigEndian.PutUint64(random[16:], uint64(i)*0x9e3779b97f4a7c15)
		forged := base64.RawURLEncoding.EncodeToString(append(raw[:len(raw)-len(random):len(raw)-len(random)], random[:]...))
		places[place(forged)] = true
		if o := x.Request(p, &lines{kv: [][2]string{{"cookie", "sid=" + forged}}}, now); o != BadSignature {
			t.Fatalf("forgery %d is %v", i, o)
		}
	}
	if len(places) != cacheSize {
		t.Errorf("the forgeries aim at %d of %d places", len(places), cacheSize)
	}
	taken := 0
	for _, entry := range e.cache.entries {
		if entry.scope != 0 {
			taken++
		}
	}
	if taken != 1 || e.cache.get(p.scopeID, good) == nil {
		t.Errorf("%d places of the cache are taken, and the good token is among them: %v", taken, e.cache.get(p.scopeID, good) != nil)
	}
}

// TestCacheIsBounded: more good tokens than the cache has places leave it as large as it was.
func TestCacheIsBounded(t *testing.T) {
	e := engine(t, 1)
	p := policyOf(e)
	count := uint32(0)
	e.proxy.Random = func(nonce []byte) { // another token every time
		count++
		binary.BigEndian.PutUint32(nonce, count)
	}
	for range 5 * cacheSize {
		cookie := issued(t, e)
		if e.cache.get(p.scopeID, cookie[len("sid="):]) == nil {
			t.Fatal("a token that was just made is not in the cache")
		}
	}
	if len(e.cache.entries) != cacheSize || cap(e.cache.entries) != cacheSize {
		t.Errorf("the cache has %d places, want %d", cap(e.cache.entries), cacheSize)
	}
}
