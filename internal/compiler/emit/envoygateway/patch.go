package envoygateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/policy-config"
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

// patches change what Envoy Gateway has no field for, one policy for each Gateway. They work where its operator has
// switched EnvoyPatchPolicy on; sessions stick without them, but not to draining hosts.
func (e *emitter) patches() {
	for _, g := range e.gateways() {
		p := &patcher{emitter: e, gateway: g, filtered: map[string]bool{}}
		p.noteHTTP()
		for _, r := range e.rules {
			if r.on(g) {
				p.rule(r)
			}
		}
		p.reload()
		e.add(created("EnvoyPatchPolicy", g.Namespace, "limpet-"+g.Name, object{
			"targetRef": targetRef("Gateway", g.Name), "type": "JSONPatch", "jsonPatches": p.patches,
		}))
	}
}

// patcher collects the patches for one Gateway.
type patcher struct {
	*emitter
	gateway *gatewayObject
	patches []any
	// filtered are the route tables whose chain of filters has the session filter.
	filtered map[string]bool
}

// noteHTTP notes the tables for which Envoy Gateway itself brings the session filter.
func (p *patcher) noteHTTP() {
	for _, r := range p.rules {
		if r.isGRPC() {
			continue
		}
		for _, t := range p.tables(r) {
			p.filtered[t.name] = true
		}
	}
}

func (p *patcher) add(kind, name string, operation object) {
	p.patches = append(p.patches, object{"type": kind, "name": name, "operation": operation})
}

// rule patches what belongs to a rule. Of its clusters it is that draining hosts keep their sessions.
func (p *patcher) rule(r *rule) {
	for _, cluster := range r.clusters() {
		p.add(clusterType, cluster, object{
			"op": "add", "path": "/common_lb_config/override_host_status",
			"value": object{"statuses": []any{"UNKNOWN", "HEALTHY", "DEGRADED", "DRAINING"}},
		})
	}
	if r.merged() {
		p.shares(r)
	}
	for _, at := range p.tables(r) {
		if r.isGRPC() {
			p.calls(r, at)
		}
		p.stay(r, at)
	}
}

// shares keeps the shares of a split what they are, and takes from backends of weight 0 the least weight, which they
// have so that their hosts are known.
func (p *patcher) shares(r *rule) {
	cluster := clusterName(r.route, r.index)
	p.add(endpointsType, cluster, object{
		"op": "add", "path": "/policy", "value": object{"overprovisioning_factor": overprovisioning},
	})
	for i, ref := range r.refs {
		if ref.weight == 0 {
			p.add(endpointsType, cluster, object{
				"op": "remove", "path": "load_balancing_weight",
				"jsonPath": fmt.Sprintf("$.endpoints[?(@.locality.region=='%s')]", backendName(r.route, r.index, i)),
			})
		}
	}
}

// routeTable is one of Envoy's route tables and the rule's routes in it.
type routeTable struct {
	name     string
	listener *gateway.Listener // one of those that it serves
	routes   []string
}

// tables are those of the Gateway that have routes of the rule with sessions.
func (p *patcher) tables(r *rule) []routeTable {
	var all []routeTable
	for _, placed := range r.placed {
		if placed.Listener.Gateway() != p.gateway || !hasSessions(placed) {
			continue
		}
		name := routeConfigurationName(placed.Listener)
		i := slices.IndexFunc(all, func(t routeTable) bool { return t.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, routeTable{name: name, listener: placed.Listener})
		}
		all[i].routes = union(all[i].routes, r.names(placed))
	}
	return all
}

// path is the JSON path of those of the routes that are in the table.
func (t routeTable) path(routes []string) string {
	var conditions []string
	for _, name := range routes {
		if slices.Contains(t.routes, name) {
			conditions = append(conditions, "@.name=='"+name+"'")
		}
	}
	return "$.virtual_hosts[*].routes[?(" + strings.Join(conditions, " || ") + ")]"
}

// stay makes sessions fail whose host can't serve, each on its own routes and clusters.
func (p *patcher) stay(r *rule, at routeTable) {
	for _, one := range r.policies {
		if one.OnHostLost != policyconfig.Fail {
			continue
		}
		routes := at.path(one.Routes)
		if len(one.Clusters) == 0 {
			p.session(at, routes, one.FailStatus)
		}
		for _, cluster := range one.Clusters {
			p.session(at, routes+".route.weighted_clusters.clusters[?(@.name=='"+cluster+"')]", one.FailStatus)
		}
	}
}

// session gives routes, or their clusters, the session filter; with a status, one that fails.
func (p *patcher) session(at routeTable, path string, status int) {
	session := p.pinned()
	delete(session, "@type") // it is a part of another message here
	if status != 0 {
		session["strict"], session["status_on_strict_destination_not_found"] = true, status
	}
	p.add(routesType, at.name, object{
		"op": "add", "jsonPath": path, "path": "/typed_per_filter_config/" + sessionFilter,
		"value": object{
			"@type":            "type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute",
			"stateful_session": session,
		},
	})
}

// calls gives the routes of a GRPCRoute the session persistence and the retries that Envoy Gateway has for HTTPRoutes.
func (p *patcher) calls(r *rule, at routeTable) {
	p.sessionFilter(at.listener)
	p.session(at, at.path(at.routes), 0)
	if r.strict() {
		return
	}
	p.add(routesType, at.name, object{"op": "add", "jsonPath": at.path(at.routes), "path": "/route/retry_policy", "value": object{
		"retry_on": "connect-failure,refused-stream,reset-before-request", "num_retries": ir.DefaultAttempts,
		"retry_host_predicate": []any{object{
			"name":         "envoy.retry_host_predicates.previous_hosts",
			"typed_config": object{"@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"},
		}},
		"host_selection_retry_max_attempts": 5,
	}})
}

// pinned is the session filter's configuration: the pin is the internal header.
func (p *patcher) pinned() object {
	return object{
		"@type": "type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession",
		"session_state": object{
			"name": "envoy.http.stateful_session.header",
			"typed_config": object{
				"@type": "type.googleapis.com/envoy.extensions.http.stateful_session.header.v3.HeaderBasedSessionState",
				"name":  p.PinHeader,
			},
		},
	}
}

// sessionFilter puts the session filter into a listener's chain, unless it is there: by another call's rule, or because
// an HTTPRoute with sessions has brought it.
func (p *patcher) sessionFilter(l *gateway.Listener) {
	table := routeConfigurationName(l)
	if p.filtered[table] {
		return
	}
	p.filtered[table] = true
	chain := "$.default_filter_chain"
	if l.Protocol() == gatewayv1.HTTPSProtocolType {
		chain = "$.filter_chains[?(@.name=='" + l.Key() + "')]"
	}
	p.add(listenerType, listenerName(l), object{
		"op": "add", "jsonPath": chain + ".filters[*].typed_config.http_filters[?(@.name=='envoy.filters.http.router')]",
		"value": object{"name": sessionFilter, "disabled": true, "typed_config": p.pinned()},
	})
}

// reload brings a VM that trapped back by itself; Envoy Gateway has no field for it, and refuses requests until its next
// change of the listener.
func (p *patcher) reload() {
	var names []string
	for _, r := range p.rules {
		for _, placed := range r.placed {
			if placed.Listener.Gateway() == p.gateway && hasSessions(placed) {
				names = union(names, []string{listenerName(placed.Listener)})
			}
		}
	}
	for _, name := range names {
		p.add(listenerType, name, object{
			"op": "add", "jsonPath": "$..http_filters[?(@.typed_config.config.name=='" + filterName + "')].typed_config.config",
			"path": "/failure_policy", "value": "FAIL_RELOAD",
		})
	}
}
