package envoygateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The types of Envoy's resources that are patched.
const (
	clusterType   = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointsType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	listenerType  = "type.googleapis.com/envoy.config.listener.v3.Listener"
	routesType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
)

// overprovisioning, in percent, keeps each backend's share of a split what its weight says while it has hosts left.
const overprovisioning = 10_000

// writePatches change what Envoy Gateway has no field for, one policy for each Gateway. They work where its operator
// has switched EnvoyPatchPolicy on; sessions stick without them, but not to draining hosts.
func (e *emitter) writePatches() {
	for _, g := range e.listGateways() {
		p := &patcher{emitter: e, gateway: g, filtered: map[string]bool{}}
		p.noteHTTP()
		for _, r := range e.rules {
			if r.isOn(g) {
				p.patchRule(r)
			}
		}
		if !e.options.isNative() {
			p.patchReload()
		}
		e.addDocument(e.newDocument("EnvoyPatchPolicy", g.Ref, "limpet-"+g.Name, jsonObject{
			"targetRef": newTargetRef("Gateway", g.Name), "type": "JSONPatch", "jsonPatches": p.patches,
		}))
	}
}

// patcher collects the patches for one Gateway.
type patcher struct {
	*emitter
	gateway *ir.Gateway
	patches []any
	// filtered are the route tables whose chain of filters has the session filter.
	filtered map[string]bool
}

// noteHTTP notes the tables for which Envoy Gateway itself brings the session filter.
func (p *patcher) noteHTTP() {
	for _, r := range p.rules {
		if isGRPC(r.Rule) {
			continue
		}
		for _, t := range p.listTables(r) {
			p.filtered[t.name] = true
		}
	}
}

func (p *patcher) addPatch(kind, name string, operation jsonObject) {
	p.patches = append(p.patches, jsonObject{"type": kind, "name": name, "operation": operation})
}

// patchRule patches what belongs to a rule. Of its clusters it is that draining hosts keep their sessions.
func (p *patcher) patchRule(r *sessionRule) {
	for _, cluster := range r.listClusters() {
		p.addPatch(clusterType, cluster, jsonObject{
			"op": "add", "path": "/common_lb_config/override_host_status",
			"value": jsonObject{"statuses": []any{"UNKNOWN", "HEALTHY", "DEGRADED", "DRAINING"}},
		})
	}
	if r.isMerged() {
		p.patchShares(r)
	}
	for _, at := range p.listTables(r) {
		if !p.options.isNative() { // it names the host itself, and knows by the policy whether the session may move
			p.pinTable(r, at)
		}
		if isGRPC(r.Rule) {
			p.retryCalls(r, at)
		}
		if r.Mirrors {
			p.hideSessions(r, at)
		}
	}
}

// patchShares keeps the shares of a split what they are, and takes from backends of weight 0 the least weight, which
// they have so that their hosts are known.
func (p *patcher) patchShares(r *sessionRule) {
	cluster := clusterName(r.Rule)
	p.addPatch(endpointsType, cluster, jsonObject{
		"op": "add", "path": "/policy", "value": jsonObject{"overprovisioning_factor": overprovisioning},
	})
	for i, ref := range r.Backends {
		if ref.Weight == 0 {
			p.addPatch(endpointsType, cluster, jsonObject{
				"op": "remove", "path": "load_balancing_weight",
				"jsonPath": fmt.Sprintf("$.endpoints[?(@.locality.region=='%s')]", backendName(r.Rule, i)),
			})
		}
	}
}

// routeTable is one of Envoy's route tables and the rule's routes in it.
type routeTable struct {
	name     string
	listener *ir.GatewayListener // one of those that it serves
	routes   []string
}

// listTables are those of the Gateway that have routes of the rule with sessions.
func (p *patcher) listTables(r *sessionRule) []routeTable {
	var all []routeTable
	for _, attached := range r.attached {
		if attached.Listener.Gateway != p.gateway || !attached.Sessions.On() {
			continue
		}
		name := routeConfigurationName(attached.Listener)
		i := slices.IndexFunc(all, func(t routeTable) bool { return t.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, routeTable{name: name, listener: attached.Listener})
		}
		all[i].routes = mergeNames(all[i].routes, r.listRouteNames(attached))
	}
	return all
}

// selectRoutes is the JSON path of those of the routes that are in the table.
func (t routeTable) selectRoutes(routes []string) string {
	var conditions []string
	for _, name := range routes {
		if slices.Contains(t.routes, name) {
			conditions = append(conditions, "@.name=='"+name+"'")
		}
	}
	return "$.virtual_hosts[*].routes[?(" + strings.Join(conditions, " || ") + ")]"
}

// pinTable has the session filter do what Envoy Gateway has no field for: pin calls, and fail with the session's host.
func (p *patcher) pinTable(r *sessionRule, at routeTable) {
	if isGRPC(r.Rule) {
		p.addSessionFilter(at.listener)
		p.patchSession(at, at.selectRoutes(at.routes), 0)
	}
	p.patchFailures(r, at)
}

// patchFailures makes sessions fail whose host can't serve, each on its own routes and clusters.
func (p *patcher) patchFailures(r *sessionRule, at routeTable) {
	for _, one := range r.policies {
		if one.OnHostLost != policyconfig.Fail {
			continue
		}
		routes := at.selectRoutes(one.Routes)
		if len(one.Clusters) == 0 {
			p.patchSession(at, routes, one.FailStatus)
		}
		for _, cluster := range one.Clusters {
			p.patchSession(at, routes+".route.weighted_clusters.clusters[?(@.name=='"+cluster+"')]", one.FailStatus)
		}
	}
}

// hideSessions keeps the tokens of a rule's sessions from its mirrors (S79).
func (p *patcher) hideSessions(r *sessionRule, at routeTable) {
	for _, route := range at.routes {
		var own []policyconfig.Policy
		for _, one := range r.policies {
			if slices.Contains(one.Routes, route) {
				own = append(own, one)
			}
		}
		if changes := p.newMirrorChanges(own); len(changes) > 0 {
			p.addPatch(routesType, at.name, jsonObject{
				"op": "add", "jsonPath": at.selectRoutes([]string{route}) + ".route.request_mirror_policies[*]",
				"path": "/request_headers_mutations", "value": changes,
			})
		}
	}
}

// newMirrorChanges are what copies lack: the header of a session, or the cookies, of which the filter says what is left
// without the token where they are one policy's. An envelope is opened before mirrors get their copies.
func (p *patcher) newMirrorChanges(policies []policyconfig.Policy) (changes []any) {
	var names []string
	for _, one := range policies {
		name := "cookie"
		if one.Type == policyconfig.TypeHeader {
			name = strings.ToLower(one.SessionName)
		}
		if !one.Envelope && !slices.Contains(names, name) {
			names = append(names, name)
			changes = append(changes, jsonObject{"remove": name})
		}
	}
	if len(policies) == 1 && policies[0].Mirrored {
		changes = append(changes, jsonObject{"append": jsonObject{"header": jsonObject{
			"key": "cookie", "value": filtermodule.FilterState(policyconfig.MirrorFilterState, p.options.isNative()),
		}}})
	}
	return changes
}

// patchSession gives routes, or their clusters, the session filter; with a status, one that fails.
func (p *patcher) patchSession(at routeTable, path string, status int) {
	session := p.newPinFilter()
	delete(session, "@type") // it is a part of another message here
	if status != 0 {
		session["strict"], session["status_on_strict_destination_not_found"] = true, status
	}
	p.addPatch(routesType, at.name, jsonObject{
		"op": "add", "jsonPath": path, "path": "/typed_per_filter_config/" + sessionFilter,
		"value": jsonObject{
			"@type":            "type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute",
			"stateful_session": session,
		},
	})
}

// retryCalls gives the routes of a GRPCRoute the retries that Envoy Gateway has for HTTPRoutes.
func (p *patcher) retryCalls(r *sessionRule, at routeTable) {
	if r.failsWithHost() {
		return
	}
	const previousHosts = "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"
	p.addPatch(routesType, at.name, jsonObject{
		"op": "add", "jsonPath": at.selectRoutes(at.routes), "path": "/route/retry_policy",
		"value": jsonObject{
			"retry_on": "connect-failure,refused-stream,reset-before-request", "num_retries": ir.DefaultAttempts,
			"retry_host_predicate": []any{jsonObject{
				"name": "envoy.retry_host_predicates.previous_hosts", "typed_config": jsonObject{"@type": previousHosts},
			}},
			"host_selection_retry_max_attempts": 5,
		},
	})
}

// newPinFilter is the session filter's configuration: the pin is the internal header.
func (p *patcher) newPinFilter() jsonObject {
	return jsonObject{
		"@type": "type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession",
		"session_state": jsonObject{
			"name": "envoy.http.stateful_session.header",
			"typed_config": jsonObject{
				"@type": "type.googleapis.com/envoy.extensions.http.stateful_session.header.v3.HeaderBasedSessionState",
				"name":  pinHeader,
			},
		},
	}
}

// addSessionFilter puts the session filter into a listener's chain, unless it is there: by another call's rule, or
// because an HTTPRoute with sessions has brought it.
func (p *patcher) addSessionFilter(l *ir.GatewayListener) {
	table := routeConfigurationName(l)
	if p.filtered[table] {
		return
	}
	p.filtered[table] = true
	chain := "$.default_filter_chain"
	if l.Protocol == gatewayv1.HTTPSProtocolType {
		chain = "$.filter_chains[?(@.name=='" + l.Key() + "')]"
	}
	p.addPatch(listenerType, listenerName(l), jsonObject{
		"op": "add", "jsonPath": chain + ".filters[*].typed_config.http_filters[?(@.name=='envoy.filters.http.router')]",
		"value": jsonObject{"name": sessionFilter, "disabled": true, "typed_config": p.newPinFilter()},
	})
}

// patchReload brings a VM that trapped back by itself; Envoy Gateway has no field for it, and refuses requests until
// its next change of the listener.
func (p *patcher) patchReload() {
	var names []string
	for _, r := range p.rules {
		for _, attached := range r.attached {
			if attached.Listener.Gateway == p.gateway && attached.Sessions.On() {
				names = mergeNames(names, []string{listenerName(attached.Listener)})
			}
		}
	}
	for _, name := range names {
		p.addPatch(listenerType, name, jsonObject{
			"op": "add", "jsonPath": "$..http_filters[?(@.typed_config.config.name=='" + filterName + "')].typed_config.config",
			"path": "/failure_policy", "value": "FAIL_RELOAD",
		})
	}
}
