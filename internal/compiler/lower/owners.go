package lower

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Owners is what is remembered of addresses (S42): whose they are, and whether they were another's.
type Owners map[ir.HostKey]ir.HostOwner

// tellOwners returns the policies with the owners of the choices' hosts, as far as the session's identity needs them.
func (l *lowerer) tellOwners(
	route *gateway.Route, path *field.Path, policies []policyconfig.Policy, session *policy.Session, choices ...choice,
) []policyconfig.Policy {
	identity, _ := session.Effective.Identity()
	if identity == v1alpha1.IdentityAddress {
		return policies
	}
	if l.Owners == nil {
		l.adviseOwners(route, path, choices)
	}
	var owners []string
	for _, c := range choices {
		if c.backend != nil {
			l.noteNeeds(c.backend, choiceNeeds{owners: true, names: identity == v1alpha1.IdentityName})
			owners = append(owners, l.Owners.list(identity, c.backend)...)
		}
	}
	slices.Sort(owners)
	owners = slices.Compact(owners)
	if len(owners) > policyconfig.MaxOwners {
		l.rep.Warn(report.TooManyOwners, route, field.TooMany(path.Child("backendRefs"), len(owners), policyconfig.MaxOwners))
		owners = owners[:policyconfig.MaxOwners]
	}
	if len(owners) == 0 {
		return policies
	}
	policies = slices.Clone(policies)
	for i := range policies {
		policies[i].Owners = owners
	}
	return policies
}

// list lists the owners of a backend's hosts: pod names where sessions follow these, and pods at addresses that other
// pods had.
func (o Owners) list(identity v1alpha1.Identity, b *backend.Backend) (owners []string) {
	for _, e := range b.Endpoints {
		host := e.Address.String()
		if known := o[e.Key()]; known.Reused {
			owners = append(owners, policyconfig.Owner{Host: host, Tag: token.PodTag(known.UID)}.String())
		}
		if identity == v1alpha1.IdentityName && e.Pod.Name != "" && !isSucceeded(&e, b.Endpoints) {
			name := b.Name + "/" + e.Pod.Name
			owners = append(owners, policyconfig.Owner{Host: host, Tag: token.NameTag(name), Named: true}.String())
		}
	}
	return owners
}

// isSucceeded tells whether an endpoint terminates and another one has its pod's name by now.
func isSucceeded(e *ir.Endpoint, all []ir.Endpoint) bool {
	return e.Draining &&
		slices.ContainsFunc(all, func(other ir.Endpoint) bool { return other.Pod.Name == e.Pod.Name && !other.Draining })
}

// adviseOwners advises that sessions are with addresses, where the input knows pods.
func (l *lowerer) adviseOwners(route *gateway.Route, path *field.Path, choices []choice) {
	if l.WithoutPods {
		return // AdviseAddresses has said it
	}
	for _, c := range choices {
		if c.backend == nil {
			continue
		}
		if slices.ContainsFunc(c.backend.Endpoints, func(e ir.Endpoint) bool { return e.Pod.UID != "" }) {
			l.rep.Advise(
				report.AddressReuse,
				route,
				path,
				"where the address of a pod passes to another pod, its sessions go there: nothing here follows endpoints; "+
					"'limpet run' and 'limpet serve' do",
			)
			return
		}
	}
}

// AdviseAddresses advises once for each Gateway that its sessions are with addresses, on a target that knows nothing of
// pods (S42). Where a policy writes an identity, that is reported there.
func AdviseAddresses(ports []gateway.Port, decisions *policy.Decisions, plan *ir.Plan, rep *report.Report) {
	reported := map[*gatewayObject]bool{}
	for _, r := range listAttachedRules(ports, decisions) {
		g := r.listener.Gateway()
		place := ir.RulePlace{Route: r.route.Ref(), Rule: r.index, Gateway: g.Ref(), Listener: r.listener.Name()}
		if reported[g] || r.decided.Refused || plan.Withheld[place] != "" ||
			!slices.ContainsFunc(r.decided.Sessions, isWithAddress) {
			continue
		}
		reported[g] = true
		rep.AdviseAt(
			report.AddressReuse,
			g,
			"",
			"sessions behind it are with addresses: one that passes to another pod takes them along, until absoluteTimeout "+
				"ends them, for nothing here tells the filter whose addresses are; identity: Address says that this is meant",
		)
	}
}

// isWithAddress tells whether no policy writes a session's identity: then it is with an address where pods are unknown.
func isWithAddress(s *policy.Session) bool {
	_, written := s.Effective.Identity()
	return !written
}

// AdviseUnissued advises once for each listener with plain HTTP that sessions with issueOn: TLS never begin there. It
// is for targets whose control plane says which proxies in front may end TLS.
func AdviseUnissued(ports []gateway.Port, decisions *policy.Decisions, rep *report.Report) {
	reported := map[*gateway.Listener]bool{}
	for _, r := range listAttachedRules(ports, decisions) {
		waits := func(s *policy.Session) bool {
			return len(s.Policies) > 0 && s.Policies[0].IssueOn == policyconfig.IssueOnTLS
		}
		if reported[r.listener] || r.listener.TLS() || r.decided.Refused || !slices.ContainsFunc(r.decided.Sessions, waits) {
			continue
		}
		reported[r.listener] = true
		rep.Advise(report.IssueOnTLS, r.listener.Subject(), r.listener.Path(),
			"sessions behind it have issueOn: TLS, and it is plain HTTP: no token is issued, "+
				"unless a proxy before it ends TLS whose x-forwarded-proto the control plane is told to believe")
	}
}
