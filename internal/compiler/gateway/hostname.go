package gateway

import (
	"cmp"
	"strings"
)

// anyHost is the hostname that stands for all of them.
const anyHost = "*"

// covers reports whether every host that b stands for is one that a stands for. A first label "*" stands for
// one label or more (HTTPRoute, spec.hostnames).
func covers(a, b string) bool {
	switch {
	case a == anyHost || a == b:
		return true
	case strings.HasPrefix(a, "*."):
		return strings.HasSuffix(b, a[1:])
	default:
		return false
	}
}

// intersect gives the hostname that stands for the hosts of both; false if there are none.
func intersect(a, b string) (string, bool) {
	switch {
	case covers(a, b):
		return b, true
	case covers(b, a):
		return a, true
	default:
		return "", false
	}
}

// HostsIntersect reports whether two hostnames stand for some host in common.
func HostsIntersect(a, b string) bool {
	_, meet := intersect(a, b)
	return meet
}

// bySpecificity puts the more specific hostname first: the exact one, then the longer wildcard.
// Of hostnames that cover one host it is a total order.
func bySpecificity(a, b string) int {
	return cmp.Or(cmp.Compare(countWildcard(a), countWildcard(b)), cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
}

// BySpecificity puts the more specific hostname first.
func BySpecificity(a, b string) int { return bySpecificity(a, b) }

func countWildcard(hostname string) int {
	if strings.HasPrefix(hostname, "*") {
		return 1
	}
	return 0
}

// Coverings gives every hostname that covers a hostname, from itself to "*".
func Coverings(hostname string) []string { return coverings(hostname) }

// coverings gives every hostname that covers a hostname, from itself to "*".
func coverings(hostname string) []string {
	if hostname == anyHost {
		return []string{anyHost}
	}
	list := []string{hostname}
	rest := strings.TrimPrefix(hostname, "*.")
	for {
		_, parent, more := strings.Cut(rest, ".")
		if !more {
			return append(list, anyHost)
		}
		list = append(list, "*."+parent)
		rest = parent
	}
}
