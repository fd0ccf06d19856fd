// Package lower turns rules into the neutral configuration: each rule into an action and its session policies,
// each backend into a cluster.
package lower

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/backendtls"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Input is what rules lead to and how requests get there.
type Input struct {
	Backends      *backend.Index
	LoadBalancing *loadbalancing.Policies
	RetryBudgets  *retrybudget.Budgets
	// BackendTLS is nil where there are no such policies.
	BackendTLS *backendtls.Policies
	// Decisions are about session persistence.
	Decisions *policy.Decisions
	// LocalClients is for clients on this machine only: advice about others is left out where a listener is on the
	// loopback.
	LocalClients bool
	// WithoutStreams leaves connections and datagrams out.
	WithoutStreams bool
	// Native says that the filter is the native one, which names the host of a session in no header.
	Native bool
	// WithoutPods is for a target that knows nothing of pods: AdviseAddresses says so once.
	WithoutPods bool
	// NamePods tells proxies the names of pods.
	NamePods bool
	// Draining is nil where it is not known since when hosts terminate.
	Draining *Draining
	// Owners is nil where nobody remembers whose addresses were.
	Owners Owners
}

// Lowered is the result of Lower.
type Lowered struct {
	Config *ir.Config
	// Clusters are those of the configuration, in the same order, and Destinations the backends behind them.
	Clusters     []Cluster
	Destinations []Destination
	// Traffic is, rule by rule, what holds for requests that no session pins.
	Traffic []*BackendTraffic
}

// Lower gives the configuration of a proxy for the ports. What a rule asks for and can't have goes to the report.
func Lower(ports []gateway.Port, in Input, rep *report.Report) *Lowered {
	paths := len(in.Decisions.Paths)
	l := &lowerer{
		Input: in, rep: rep, rules: make(map[ruleKey]*loweredRule, paths), choiceNeeds: map[*backend.Backend]choiceNeeds{},
		revoked:  revokedBackends{},
		advised:  map[*gateway.Listener]bool{},
		streams:  map[streamKey][]choice{},
		clusters: make(map[string]Cluster, paths), policies: make([]policyconfig.Policy, 0, paths),
		traffic: make([]*BackendTraffic, 0, paths),
	}
	config := &ir.Config{Remembered: ir.Remembered{Pods: []ir.PodAt{}}}
	l.clients = listClients(ports)
	for _, p := range ports {
		listener := l.lowerListener(p)
		if len(listener.Hosts)+len(listener.TLSHosts) > 0 || listener.Stream != nil {
			config.Listeners = append(config.Listeners, listener)
		}
	}
	l.revoked.advise(rep)
	clusters := slices.SortedFunc(maps.Values(l.clusters), func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	for i := range clusters {
		c := &clusters[i]
		c.namePods = l.NamePods
		c.choose(l.Draining, l.Owners)
		config.Clusters = append(config.Clusters, c.Cluster)
		config.Add(&c.Remembered)
	}
	config.Sort()
	config.Policies = l.policies
	slices.SortStableFunc(l.traffic, func(a, b *BackendTraffic) int {
		return cmp.Or(resource.ByAge(a.Route, b.Route), cmp.Compare(a.Rule, b.Rule))
	})
	return &Lowered{config, clusters, l.listDestinations(clusters), l.traffic}
}

type lowerer struct {
	Input
	rep   *report.Report
	rules map[ruleKey]*loweredRule
	// client is the certificate of the Gateway whose routes are lowered, nil for none, and clients are those of all
	// Gateways.
	client   *ir.Certificate
	clients  []*ir.Certificate
	streams  map[streamKey][]choice
	clusters map[string]Cluster
	policies []policyconfig.Policy
	traffic  []*BackendTraffic
	revoked  revokedBackends
	// choiceNeeds are the facts of backends' hosts that policies get.
	choiceNeeds map[*backend.Backend]choiceNeeds
	// advised are the listeners about which adviseOnce has advised.
	advised map[*gateway.Listener]bool
}

// ruleKey names a rule, and the client certificate that its Gateway shows to hosts.
type ruleKey struct {
	rule   *policy.Rule
	client string // the certificate's Secret
}

// listClients gives the client certificates of Gateways, each once, with nil for none.
func listClients(ports []gateway.Port) (all []*ir.Certificate) {
	for _, p := range ports {
		for _, h := range p.Hosts {
			client := h.Listener.ClientCertificate()
			if !slices.ContainsFunc(all, func(c *ir.Certificate) bool { return secretOf(c) == secretOf(client) }) {
				all = append(all, client)
			}
		}
	}
	slices.SortFunc(all, func(a, b *ir.Certificate) int { return cmp.Compare(secretOf(a), secretOf(b)) })
	return all
}

// secretOf gives the Secret of a certificate; empty for none.
func secretOf(c *ir.Certificate) string {
	if c == nil {
		return ""
	}
	return c.Secret
}

// loweredRule is what all routes of a rule have in common.
type loweredRule struct {
	names  []string // of the route for each match
	action ir.Route // without name and match
	// traffic is that of its backends, and listeners are those that its requests come through.
	traffic   []*BackendTraffic
	listeners []*gateway.Listener
}

// lowerRoutes lowers the matches of a host, but for those of routes that serve nothing (S48).
func (l *lowerer) lowerRoutes(port gateway.Port, host gateway.Host) []ir.Route {
	routes := make([]ir.Route, 0, len(host.Matches))
	l.client = host.Listener.ClientCertificate()
	for _, m := range host.Matches {
		if l.Decisions.Rejected(m.Route) {
			continue
		}
		decided := l.Decisions.Rule(host.Listener, m.Route, m.Rule)
		if !port.TLS && m.Route.ExtraOf(m.Rule).OnlyTLS {
			routes = append(routes, newUpgrade(decided.Routes[m.Match], m))
			continue
		}
		r := l.lowerRule(decided, m.Route, m.Rule)
		r.addListener(host.Listener)
		if r.action.Sticky && !host.Listener.TLS() && len(port.Trusted) == 0 {
			l.adviseTLS(host.Listener, decided, l.LocalClients && port.Address.IsLoopback())
		}
		route := r.action
		route.Name = r.names[m.Match]
		route.Match = newMatch(m)
		route.Redirect = finishRedirect(route.Redirect, port)
		routes = append(routes, route)
	}
	return routes
}

// newUpgrade redirects clients without TLS to https, permanently.
func newUpgrade(name string, m gateway.Match) ir.Route {
	to := &ir.Redirect{Scheme: "https", Status: 301}
	return ir.Route{Name: name, Match: newMatch(m), Filters: ir.Filters{Redirect: to}}
}

// lowerRule lowers a rule once for each client certificate.
func (l *lowerer) lowerRule(decided *policy.Rule, route *gateway.Route, index int) *loweredRule {
	key := ruleKey{decided, secretOf(l.client)}
	if r := l.rules[key]; r != nil {
		return r
	}
	path := field.NewPath("spec", "rules").Index(index)
	l.checkHeaders(route, index, path, route.Value.Spec.Rules[index].Matches)
	r := &loweredRule{names: decided.Routes}
	l.checkSessionHeader(route, path, decided)
	choices := l.resolveChoices(route, path, index)
	filters, served := l.lowerFilters(route, path, index)
	allowSessions(filters.CORS, decided)
	hashes := l.assignBalancing(route, index, decided, choices)
	l.assignBudgets(route, path, decided, choices)
	switch {
	case !served:
		r.action.Status = gateway.UnresolvedStatusCode(route)
	case filters.Redirect != nil:
		r.action = ir.Route{}
	case decided.Refused || gateway.FilterFault(route, path) != nil:
		r.action.Status = gateway.UnresolvedStatusCode(route)
	case len(decided.Sessions) == 0:
		r.action = l.newPlainAction(route, choices)
	case decided.PerBackend:
		l.checkMerge(route, path, decided)
		r.action = l.newPerBackendAction(route, path, decided, choices)
	default:
		r.action = l.newStickyAction(route, path, decided, choices)
	}
	var retries *RetryOutcome
	applyFilters(&r.action, filters)
	if r.action.Status == 0 && r.action.Redirect == nil {
		r.action.Hashes = hashes
		retries = l.lowerRetries(route, path, &r.action, index)
	}
	if !l.isLowered(decided) {
		l.policies = append(l.policies, r.action.Policies...)
	}
	r.traffic = listBackendTraffic(route, index, decided, choices, retries)
	l.traffic = append(l.traffic, r.traffic...)
	l.rules[key] = r
	return r
}

// isLowered reports whether a rule was lowered, for whichever client certificate: its policies are the same for all.
func (l *lowerer) isLowered(rule *policy.Rule) bool {
	return slices.ContainsFunc(
		l.clients,
		func(c *ir.Certificate) bool { return l.rules[ruleKey{rule, secretOf(c)}] != nil },
	)
}

// adviseTLS advises once, for a listener with plain HTTP, that its sessions need TLS. Clients do not send a Secure
// cookie back, and issueOn: TLS issues nothing, unless a proxy in front ends TLS that the Gateway names.
func (l *lowerer) adviseTLS(listener *gateway.Listener, rule *policy.Rule, local bool) {
	const cure = "; where a proxy before it ends TLS, name that in the Gateway's annotation " + gateway.TrustedAnnotation
	for _, s := range rule.Sessions {
		p := &s.Policies[0]
		message := ""
		switch {
		case p.IssueOn == policyconfig.IssueOnTLS:
			message = "sessions behind it have issueOn: TLS, and it is plain HTTP: no token is issued" + cure
		case p.Cookie != nil && p.Cookie.Secure && !local:
			message = "cookies of sessions behind it are Secure, and it is plain HTTP: clients send them back only to " +
				"127.0.0.1 and localhost, or through a proxy that speaks TLS" + cure
		}
		if message != "" {
			l.adviseOnce(listener, message)
		}
	}
}

func (l *lowerer) adviseOnce(listener *gateway.Listener, message string) {
	if !l.advised[listener] {
		l.advised[listener] = true
		l.rep.Advise(report.PlainCookie, listener.Subject(), listener.Path(), message)
	}
}

// newMatch lowers a match. Of several entries for one header or parameter the first counts in Gateway API.
func newMatch(of gateway.Match) ir.Match {
	spec, all := of.Spec, of.Route.ExtraOf(of.Rule).EveryCondition
	m := ir.Match{GRPC: of.Route.Kind == object.KindGRPCRoute}
	switch *spec.Path.Type {
	case gatewayv1.PathMatchExact:
		m.Exact, m.Path = true, *spec.Path.Value
	case gatewayv1.PathMatchRegularExpression:
		m.Regex = *spec.Path.Value
	default:
		m.Path = gateway.TrimPathPrefix(*spec.Path.Value)
	}
	if spec.Method != nil {
		m.Method = string(*spec.Method)
	}
	for _, h := range spec.Headers {
		name := strings.ToLower(string(h.Name))
		if all || !slices.ContainsFunc(m.Headers, func(p ir.ValueMatch) bool { return p.Name == name }) {
			regex := h.Type != nil && *h.Type == gatewayv1.HeaderMatchRegularExpression
			m.Headers = append(m.Headers, ir.ValueMatch{Name: name, Value: h.Value, Regex: regex})
		}
	}
	for _, q := range spec.QueryParams {
		if all || !slices.ContainsFunc(m.Query, func(p ir.ValueMatch) bool { return p.Name == string(q.Name) }) {
			regex := q.Type != nil && *q.Type == gatewayv1.QueryParamMatchRegularExpression
			m.Query = append(m.Query, ir.ValueMatch{Name: string(q.Name), Value: q.Value, Regex: regex})
		}
	}
	return m
}
