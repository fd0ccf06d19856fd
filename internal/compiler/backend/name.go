package backend

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// anyName as a pattern stands for every name that leads out of the machine and out of the cluster.
const anyName = "*"

// IsNamePattern reports whether a text can say which DNS names endpoints may have: a name, "*." and a name for all
// below it, or "*".
func IsNamePattern(pattern string) bool {
	return pattern == anyName || isHostname(strings.TrimPrefix(pattern, "*."))
}

// isHostname reports whether a text is a DNS name and nothing that resolvers take for an address, such as 127.1 or
// 0x7f000001.
func isHostname(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return len(validation.IsDNS1123Subdomain(name)) == 0 && strings.Trim(last, "0123456789") != "" &&
		!strings.HasPrefix(last, "0x")
}

// normalizeName is a DNS name in the form in which names are compared.
func normalizeName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// localDomains are those whose names resolve to local addresses; the last three stand in the /etc/hosts of
// distributions, for the loopback.
var localDomains = []string{"localhost", "local", "svc", "internal", "localdomain", "localdomain4", "localdomain6"}

// isLocalName reports whether a name leads to Envoy's own machine or back into the cluster, past the ReferenceGrants
// there.
func isLocalName(name string) bool {
	return !strings.Contains(name, ".") || slices.ContainsFunc(localDomains, func(domain string) bool {
		return strings.HasSuffix(name, "."+domain)
	})
}

// matchesName reports whether a pattern covers a name. Local names must be listed themselves.
func matchesName(pattern, name string) bool {
	switch domain, wild := strings.CutPrefix(pattern, "*"); {
	case !wild:
		return pattern == name
	case isLocalName(name):
		return false
	default:
		return strings.HasSuffix(name, domain)
	}
}

// refuseName says why no endpoint can be behind a name and a port; empty if one can. Envoy resolves the name while it
// runs, so Envoy's own ports are refused whatever the name.
func (p *Places) refuseName(name string, port uint16) string {
	switch {
	case !isHostname(name):
		return fmt.Sprintf("%q is no DNS name", name)
	case p == nil || !slices.ContainsFunc(p.Names, func(pattern string) bool { return matchesName(pattern, name) }):
		return fmt.Sprintf("no --external-names covers %s", name)
	case slices.ContainsFunc(p.Own, func(own netip.AddrPort) bool { return own.Port() == port }):
		return fmt.Sprintf("%s:%d may be where Envoy itself listens", name, port)
	}
	return ""
}

// newNamedEndpoint is an endpoint behind a name. It has no pod: pods are known by their addresses.
func newNamedEndpoint(name string, port uint16, draining bool) ir.Endpoint {
	return ir.Endpoint{Host: name, Address: netip.AddrPortFrom(netip.Addr{}, port), Draining: draining}
}
