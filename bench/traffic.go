package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
	"github.com/limpet-proxy/limpet/internal/load"
	"github.com/limpet-proxy/limpet/token"
)

// request is one request of a traffic and what must become of it.
type request struct {
	method, path string
	// lines are headers besides those that every request has.
	lines [][2]string
	// host is the backend that must answer; "" if any may.
	host string
}

// common are the headers that a browser sends with everything.
var common = [][2]string{
	{"host", "shop.example"},
	{"user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"},
	{"accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
	{"accept-language", "en-US,en;q=0.5"},
}

// bytes is the request as HTTP/1.1 has it.
func (r request) bytes() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method, r.path)
	for _, line := range append(common[:len(common):len(common)], r.lines...) {
		fmt.Fprintf(&b, "%s: %s\r\n", line[0], line[1])
	}
	return []byte(b.String() + "\r\n")
}

// header is the request's header fields for HTTP/2.
func (r request) header() http.Header {
	h := http.Header{}
	for _, line := range append(common[1:len(common):len(common)], r.lines...) {
		h.Add(line[0], line[1])
	}
	return h
}

// requestMix is a sort of request: a pool that is sent over and over.
type requestMix struct {
	pool []request
	// issues tells whether a contestant that signs must issue a token for each.
	issues bool
	// weight divides the number of requests, so that a measurement of expensive ones takes about as long.
	weight int
	http2  bool
}

// How many sessions the pinned traffic has: few, so that limpet's cache holds them, and more than it can hold.
const (
	fewSessions  = 64
	manySessions = 20_000
)

// flood is how large, in bytes, the cookies of the flood traffics are: near Envoy's limit for all headers.
const flood = 55_000

func cookies(values ...string) [][2]string {
	return [][2]string{{"cookie", "theme=dark; " + strings.Join(values, "; ")}}
}

// forged changes a token's last character, which is part of its MAC. The character's spare bits stay 0: a token with
// others is refused before its signature is checked.
func forged(tok string) string {
	last := byte('A')
	if tok[len(tok)-1] == last {
		last = 'Q'
	}
	return tok[:len(tok)-1] + string(last)
}

// mint makes count tokens, for each backend in turn.
func mint(scope *token.Scope, backends []string, count int, age time.Duration) ([]string, error) {
	tokens := make([]string, count)
	for i := range tokens {
		var err error
		if tokens[i], err = rig.Mint(scope, backends[i%len(backends)], age); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// with makes a pool of one request for each value, pinned to the backends in turn.
func with(path string, values, backends []string, lines func(value string) [][2]string) []request {
	var pool []request
	for i, value := range values {
		r := request{method: "GET", path: path, lines: lines(value)}
		if len(backends) > 0 {
			r.host = backends[i%len(backends)]
		}
		pool = append(pool, r)
	}
	return pool
}

func cart(value string) [][2]string { return cookies("cart=" + value) }

// The traffics by name. keys sign the tokens.
func traffics(keys rig.Keys, backends []string) (map[string]requestMix, error) {
	scope := keys.Scope(rig.CookieScope)
	few, err := mint(scope, backends, fewSessions, 0)
	if err != nil {
		return nil, err
	}
	lots, err := mint(scope, backends, manySessions, 0)
	if err != nil {
		return nil, err
	}
	idle, err := mint(scope, backends, fewSessions, 30*time.Minute)
	if err != nil {
		return nil, err
	}
	header, err := mint(keys.Scope(rig.HeaderScope), backends, fewSessions, 0)
	if err != nil {
		return nil, err
	}
	preflight := request{method: "OPTIONS", path: "/cart", lines: append(cookies("lang=en"),
		[2]string{"origin", "https://other.example"}, [2]string{"access-control-request-method", "PUT"})}
	var bad, pins []string
	for _, tok := range few {
		bad = append(bad, forged(tok))
	}
	for _, address := range backends {
		pins = append(pins, rig.Pin(address))
	}
	many := "cart=" + strings.Join(bad, "; cart=")
	many = strings.Repeat(many+"; ", flood/len(many)+1)[:flood]
	return map[string]requestMix{
		"pinned":       {pool: with("/cart", few, backends, cart)},
		"pinned-many":  {pool: with("/cart", lots, backends, cart)},
		"pinned-plain": {pool: with("/cart", pins, backends, cart)},
		"new":          {pool: []request{{method: "GET", path: "/cart", lines: cookies("lang=en")}}, issues: true},
		"renewed":      {pool: with("/cart", idle, backends, cart), issues: true},
		"forged":       {pool: with("/cart", bad, nil, cart), issues: true},
		"flood-forged": {pool: []request{{method: "GET", path: "/cart", lines: cookies(many)}}, issues: true, weight: 10},
		"flood-others": {
			pool:   []request{{method: "GET", path: "/cart", lines: cookies(strings.ReplaceAll(many, "cart=", "tarc="))}},
			issues: true, weight: 10,
		},
		"preflight": {pool: []request{preflight}},
		"header": {pool: with("/x-cart", header, backends, func(v string) [][2]string {
			return append(cookies("lang=en"), [2]string{"x-cart", v})
		})},
		"pinned-http2":  {pool: with("/cart", few, backends, cart), http2: true, weight: 2},
		"without-route": {pool: with("/plain", few, nil, cart)},
	}, nil
}

// send sends count requests of the traffic.
func (t requestMix) send(address string, count int) error {
	if t.http2 {
		headers := make([]http.Header, len(t.pool))
		for i, r := range t.pool {
			headers[i] = r.header()
		}
		return load.SendHTTP2(address, t.pool[0].path, count, func(i int) http.Header { return headers[i%len(headers)] })
	}
	raw := make([][]byte, len(t.pool))
	for i, r := range t.pool {
		raw[i] = r.bytes()
	}
	var bad firstError
	err := load.Send(address, count, func(i int, buf []byte) []byte { return append(buf, raw[i%len(raw)]...) },
		func(i int, head load.Head) {
			if !head.OK() {
				bad.set(fmt.Errorf("request %d: %s", i, head))
			}
		})
	if err == nil {
		err = bad.get()
	}
	return err
}
