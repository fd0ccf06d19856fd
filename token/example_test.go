package token_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/limpet-proxy/limpet/token"
)

// The clock and the nonce are passed in; a proxy takes the time of day and random bytes.
const began = 1_795_000_000

var nonce = [12]byte{0: 7}

// A ring's keys sign tokens for a scope. Every holder of the ring can verify them; in another scope they are void.
func Example() {
	ring, err := token.NewRing([]token.Key{{ID: "2026-11", Secret: []byte("32 bytes or more of a random source")}})
	if err != nil {
		log.Fatal(err)
	}
	host, err := token.ParseHost("10.0.0.7:8080")
	if err != nil {
		log.Fatal(err)
	}
	cart := ring.Scope("HTTPRoute/shop/cart/rule/pay")
	session := token.Session{Host: host, IssuedAt: began, LastSeen: began}
	text, err := cart.Append(nil, session, token.Minting{Now: began, Nonce: nonce})
	if err != nil {
		log.Fatal(err)
	}
	tok, rules := string(text), token.Rules{AbsoluteTimeout: 8 * 3600}

	session, verdict := cart.Verify(tok, rules, began+60)
	fmt.Println("a minute later:", verdict, session.Host)

	_, verdict = cart.Verify(tok, rules, began+9*3600)
	fmt.Println("nine hours later:", verdict)

	_, verdict = cart.Verify(tok[:len(tok)-1]+"A", rules, began+60)
	fmt.Println("edited:", verdict)

	_, verdict = ring.Scope("HTTPRoute/shop/cart/rule/look").Verify(tok, rules, began+60)
	fmt.Println("in another scope:", verdict)
	// Output:
	// a minute later: valid 10.0.0.7:8080
	// nine hours later: expired-absolute
	// edited: bad-signature
	// in another scope: wrong-scope
}

// A new key goes in front. It verifies at once and signs from its NotBefore on, when every proxy has it; the old key goes
// when no session needs it any more.
func ExampleNewRing() {
	old := token.Key{ID: "2026-11", Secret: []byte(strings.Repeat("old ", 8))}
	next := token.Key{ID: "2026-12", Secret: []byte(strings.Repeat("new ", 8)), NotBefore: began + 600}
	host, err := token.ParseHost("[2001:db8::7]:80")
	if err != nil {
		log.Fatal(err)
	}
	session := token.Session{Host: host, IssuedAt: began, LastSeen: began}
	mint := func(now int64, keys ...token.Key) string {
		text, err := scope(keys...).Append(nil, session, token.Minting{Now: now, Nonce: nonce})
		if err != nil {
			log.Fatal(err)
		}
		return string(text)
	}
	early, late := mint(began, next, old), mint(began+600, next, old)

	for _, tok := range []string{early, late} {
		_, both := scope(next, old).Open(tok, began+700)
		_, newOnly := scope(next).Open(tok, began+700)
		fmt.Println(both, newOnly)
	}
	// Output:
	// valid unknown-key
	// valid valid
}

func scope(keys ...token.Key) *token.Scope {
	ring, err := token.NewRing(keys)
	if err != nil {
		log.Fatal(err)
	}
	return ring.Scope("shop")
}

// A sealed ring may stand where many can read it, such as in a Gateway's resources. The root secret is in the proxy's
// environment only. Equal rings are sealed to equal texts, so that nothing changes that need not.
func ExampleRoot_Seal() {
	root := token.Root{Target: "envoy", Secret: []byte("a root secret of 32 bytes or more")}
	sealed, err := root.Seal([]byte(`{"keys": []}`))
	if err != nil {
		log.Fatal(err)
	}
	again, err := root.Seal([]byte(`{"keys": []}`))
	if err != nil {
		log.Fatal(err)
	}
	plain, err := token.Unseal([]token.Root{root}, sealed)
	fmt.Println(string(plain), err, sealed == again)

	elsewhere := token.Root{Target: "istio", Secret: root.Secret}
	_, err = token.Unseal([]token.Root{elsewhere}, sealed)
	fmt.Println(err != nil)
	// Output:
	// {"keys": []} <nil> true
	// true
}
