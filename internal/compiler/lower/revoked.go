package lower

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// revokedBackends are, by route, the backends that documents revoke for it alone, and whether it has them.
type revokedBackends map[*gateway.Route]map[string]bool

// revokeBackends has policies revoke the hosts of backends that their documents revoke (S43). In a merged cluster the
// proxy tells no backends apart, and a token need not name one; which hosts a backend has is known here.
func (l *lowerer) revokeBackends(
	route *gateway.Route, path *field.Path, policies []policyconfig.Policy, session *policy.Session, choices ...choice,
) []policyconfig.Policy {
	revoked := session.Effective.RevokedBackends()
	if len(revoked) == 0 {
		return policies
	}
	l.revoked.note(route, session, revoked, func(name string) bool {
		return slices.ContainsFunc(choices, func(c choice) bool { return c.backend != nil && c.backend.Name == name })
	})
	policies = l.revokeNames(route, path, policies, revoked, choices)
	hosts, latest := l.listRevokedHosts(revoked, choices)
	if len(hosts) == 0 {
		return policies
	}
	policies = slices.Clone(policies)
	for i := range policies {
		of := &policies[i].Revocation
		hosts := slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return slices.Contains(of.Hosts, h) })
		if n := len(of.Hosts) + len(hosts); n > policyconfig.MaxRevokedHosts { // rather too much than too little
			of.NotBefore = max(of.NotBefore, latest)
			l.rep.WarnAt(report.Revocation, route, path.Child("backendRefs").String(), fmt.Sprintf(
				"Too many: %d: a policy revokes at most %d hosts, and its backends have more: all sessions of the rule that "+
					"began before are void",
				n,
				policyconfig.MaxRevokedHosts,
			))
			continue
		}
		of.Hosts = slices.Concat(of.Hosts, hosts)
	}
	return policies
}

// revokeNames voids all sessions of a rule where a backend is revoked whose hosts are behind names: the proxy alone
// knows their addresses.
func (l *lowerer) revokeNames(
	route *gateway.Route,
	path *field.Path,
	policies []policyconfig.Policy,
	revoked []precedence.RevokedBackend,
	choices []choice,
) []policyconfig.Policy {
	for _, r := range revoked {
		named := slices.ContainsFunc(choices, func(c choice) bool {
			return c.backend != nil && c.backend.Name == r.Backend && slices.ContainsFunc(c.backend.Endpoints, isNamed)
		})
		if !named {
			continue
		}
		policies = slices.Clone(policies)
		for i := range policies {
			policies[i].Revocation.NotBefore = max(policies[i].Revocation.NotBefore, r.Before)
		}
		l.rep.WarnAt(report.Revocation, route, path.Child("backendRefs").String(), fmt.Sprintf(
			"the hosts of %s are behind names, so no token tells whether it is of one: all sessions of the rule that began "+
				"before are void",
			r.Backend,
		))
	}
	return policies
}

func isNamed(e ir.Endpoint) bool { return e.Host != "" }

// listRevokedHosts lists the hosts of the choices that are revoked, as the filter has them, and the latest time of
// them.
func (l *lowerer) listRevokedHosts(
	revoked []precedence.RevokedBackend,
	choices []choice,
) (hosts []string, latest policyconfig.Time) {
	for _, c := range choices {
		for _, r := range revoked {
			if c.backend == nil || r.Backend != c.backend.Name {
				continue
			}
			l.noteNeeds(c.backend, choiceNeeds{revoked: true})
			latest = max(latest, r.Before)
			before := " before " + time.Unix(int64(r.Before), 0).UTC().Format(time.RFC3339)
			for _, address := range listAddresses(c.backend) {
				hosts = append(hosts, address.String()+before)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), latest
}

// listAddresses are those of a backend's hosts: of pods that are not ready, too, for their sessions come back with
// them.
func listAddresses(b *backend.Backend) (all []netip.AddrPort) {
	for i := range b.Endpoints {
		if e := &b.Endpoints[i]; e.Host == "" {
			all = append(all, e.Address)
		}
	}
	return append(all, b.Unready...)
}

// note notes which of the backends that are revoked for the route alone it has.
func (all revokedBackends) note(
	route *gateway.Route, session *policy.Session, revoked []precedence.RevokedBackend, has func(name string) bool,
) {
	if !session.Effective.RevokesForRoute() {
		return
	}
	if all[route] == nil {
		all[route] = map[string]bool{}
	}
	for _, r := range revoked {
		all[route][r.Backend] = all[route][r.Backend] || has(r.Backend)
	}
}

// advise says which backends are revoked for routes that do not have them: a name that is wrong would revoke nothing.
func (all revokedBackends) advise(rep *report.Report) {
	for _, route := range slices.SortedFunc(maps.Keys(all), resource.ByAge) {
		for _, name := range slices.Sorted(maps.Keys(all[route])) {
			if !all[route][name] {
				rep.AdviseAt(report.Revocation, route, "spec.rules", fmt.Sprintf(
					"revocation.backends of a policy for it names %q, which is no backend of its rules with this policy: it revokes "+
						"nothing there",
					name,
				))
			}
		}
	}
}
