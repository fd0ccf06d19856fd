package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSharded holds which sites have shards: for all of a port without TLS, and for server names with a wildcard; the senior ones, whatever
// ports others listen on.
func TestSharded(t *testing.T) {
	listener := func(name, protocol string, port int, more string) string {
		return fmt.Sprintf("{name: %s, protocol: %s, port: %d%s}", name, protocol, port, more)
	}
	const tls = ", tls: {certificateRefs: [{name: cert}]}"
	kinds := gatewayOf(in("infra", "shared")+middle, strings.Join([]string{
		listener("plain", "HTTP", 80, ""), listener("again", "HTTP", 80, ", hostname: a.org"), listener("tcp", "TCP", 81, ""), listener("udp", "UDP", 82, ""),
		listener("one", "HTTPS", 443, ", hostname: one.example.com"+tls), listener("wide", "HTTPS", 443, `, hostname: "*.example.com"`+tls),
		listener("rest", "HTTPS", 443, tls), listener("bare", "HTTPS", 443, `, hostname: "*.example.org", tls: {certificateRefs: [{name: gone}]}`),
	}, ", "), ", allowedListeners: {namespaces: {from: All}}")
	var first, last []string // sixteen listeners of another Gateway, before those ports and behind
	for i := range 16 {
		first = append(first, listener(fmt.Sprintf("l%d", i), "HTTP", 10+i, ""))
		last = append(last, listener(fmt.Sprintf("l%d", i), "HTTP", 1000+i, ""))
	}
	all := func(listeners []string, age string) string {
		return gatewayOf(in("b", "other")+age, strings.Join(listeners, ", "), "")
	}
	const own = "80 *, 443 *.example.com, 443 *"
	for name, c := range map[string]struct {
		documents []string
		own       string
		others    int
	}{
		"alone":                 {nil, own, 0},
		"a younger one before":  {[]string{all(first, younger)}, own, 13},
		"a younger one behind":  {[]string{all(last, younger)}, own, 13},
		"an older one behind":   {[]string{all(last, older)}, "", 16},
		"a younger ListenerSet": {[]string{setOf("more"+younger, strings.Join(first, ", "))}, own, 13},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildAll(t, append(c.documents, limpetClass, kinds, secretOf(t, "cert, namespace: infra"))...)
			var of []string
			others := 0
			for _, p := range b.ports {
				for _, hostname := range p.Sharded {
					if slices.Contains([]uint16{80, 81, 82, 443}, p.Number) {
						of = append(of, fmt.Sprintf("%d %s", p.Number, hostname))
					} else {
						others++
					}
				}
			}
			if got := strings.Join(of, ", "); got != c.own || others != c.others {
				t.Errorf("got %q and %d of others, want %q and %d", got, others, c.own, c.others)
			}
		})
	}
}
