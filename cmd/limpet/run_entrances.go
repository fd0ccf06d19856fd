package main

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/message"
)

// maxDomains is how many hostnames of an address are named.
const maxDomains = 5

// printEntrances says where an Envoy serves what, and how to try a session there.
func printEntrances(to io.Writer, all []envoy.Entrance) {
	var best *envoy.Entrance
	for i := range all {
		e := &all[i]
		message.Print(to, "serving "+describeEntrance(e))
		if e.Try != nil && (best == nil || e.Try.Session && !best.Try.Session) {
			best = e
		}
	}
	if best == nil {
		return
	}
	if first, next := curlLines(best); next == "" {
		message.Printf(to, "try it:\n  %s", first)
	} else {
		message.Printf(to, "try it; the second request goes to the backend of the first:\n  %s\n  %s", first, next)
	}
}

func describeEntrance(e *envoy.Entrance) string {
	switch at := reachable(e.At); {
	case e.UDP:
		return fmt.Sprintf("datagrams at udp://%s", at)
	case !e.HTTP:
		return fmt.Sprintf("connections at tcp://%s", at)
	case len(e.Domains) == 0:
		return fmt.Sprintf("%s://%s, where no route is: it answers 404", scheme(e), at)
	default:
		return fmt.Sprintf("%s://%s for %s", scheme(e), at, nameDomains(e.Domains))
	}
}

func scheme(e *envoy.Entrance) string {
	if e.TLS {
		return "https"
	}
	return "http"
}

// nameDomains names the first of some hostnames.
func nameDomains(domains []string) string {
	var names []string
	for _, d := range domains {
		if d == "*" {
			d = "every host"
		}
		names = append(names, d)
	}
	if more := len(names) - maxDomains; more > 0 {
		names = append(names[:maxDomains], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// reachable is an address at which this machine reaches a listener.
func reachable(at netip.AddrPort) netip.AddrPort {
	switch at.Addr() {
	case netip.IPv4Unspecified():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	case netip.IPv6Unspecified():
		return netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
	}
	return at
}

// curlLines begin a session, and go on with it; the second is empty where there are no sessions.
func curlLines(e *envoy.Entrance) (first, next string) {
	at, host := reachable(e.At), strings.Replace(e.Try.Domain, "*.", "any.", 1)
	named := host != "*"
	where := fmt.Sprintf("'%s://%s%s'", scheme(e), at, e.Try.Path)
	if named {
		where = fmt.Sprintf(
			"--resolve %s:%d:%s '%s://%s:%d%s'",
			host,
			at.Port(),
			at.Addr(),
			scheme(e),
			host,
			at.Port(),
			e.Try.Path,
		)
	}
	if e.TLS {
		where = "-k " + where
	}
	switch {
	case !e.Try.Session:
		return "curl -i " + where, ""
	case e.Try.Header != "":
		return "curl -i " + where, fmt.Sprintf("curl -i -H '%s: that of the first answer' %s", e.Try.Header, where)
	case named && !e.TLS: // curl sends cookies that are Secure over plain HTTP to this machine's own name only
		return "curl -i " + where, "curl -i -H 'Cookie: that of the first answer' " + where
	default:
		return "curl -i -c cookies.txt " + where, "curl -i -b cookies.txt " + where
	}
}
