package envoygateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// The filters whose order matters, as Envoy Gateway names them.
const (
	wasmFilter    = "envoy.filters.http.wasm"
	moduleFilter  = "envoy.filters.http.dynamic_modules"
	sessionFilter = "envoy.filters.http.stateful_session"
)

// checkingFilters have to come before limpet: it may lead a request to a route of another name, for which a
// SecurityPolicy or BackendTrafficPolicy by sectionName does not hold. All other filters that refuse requests come
// first anyway.
var checkingFilters = []string{
	"envoy.filters.http.rbac",
	"envoy.filters.http.local_ratelimit",
	"envoy.filters.http.ratelimit",
}

// secretName is the Secret with the keys, in the namespace in which Envoy Gateway runs its proxies.
const secretName = "limpet-keys"

// writeProxies gives every Gateway's EnvoyProxy what sessions need.
func (e *emitter) writeProxies() {
	for _, g := range e.listGateways() {
		if g.Parameters != nil && !e.hasOwnProxy(g) {
			e.extendProxy(g)
			continue
		}
		// Merged, for a class that is not in the input may have an EnvoyProxy of its own.
		doc := e.newDocument(kindProxy, g.Ref, "limpet-"+g.Name, jsonObject{"mergeType": "StrategicMerge"})
		e.completeProxy(nil, childObject(doc, "spec"))
		e.addDocument(doc)
		gateway := e.editDocument(&g.Object)
		infrastructure := childObject(gateway, "spec", "infrastructure")
		infrastructure["parametersRef"] = jsonObject{"group": group, "kind": kindProxy, "name": "limpet-" + g.Name}
		e.addDocument(gateway)
	}
}

// hasOwnProxy tells whether a Gateway refers to the EnvoyProxy that limpet wrote for it before, which takes a new one's
// place.
func (e *emitter) hasOwnProxy(g *ir.Gateway) bool {
	own := object.Ref{Kind: kindProxy, Namespace: g.Namespace, Name: "limpet-" + g.Name}
	return g.Parameters.Ref == own && e.plan.WroteBefore(own)
}

// extendProxy extends the EnvoyProxy of the user's that a Gateway refers to, once.
func (e *emitter) extendProxy(g *ir.Gateway) {
	for _, p := range e.plan.Objects[kindProxy] {
		if p.Ref != g.Parameters.Ref {
			continue
		}
		if doc := e.extendDocument(p, g); !e.hasDocument(doc) {
			spec := childObject(doc, "spec")
			e.completeProxy(p, spec)
			e.checkProxy(p, spec)
			e.addDocument(doc)
		}
		return
	}
	from, path := g.Subject.String(), "spec.infrastructure.parametersRef"
	if g.Parameters.OfClass {
		from, path = "its GatewayClass", "spec.gatewayClassName"
	}
	lacking := "no session sticks, or requests of sessions"
	if e.options.isNative() {
		lacking = fmt.Sprintf(
			"routes with sessions get 500 unless its spec.dynamicModules has the module %s at %s, and requests of sessions",
			filterName,
			e.options.NativePath,
		)
	}
	var order []string
	for _, position := range e.listPositions() {
		order = append(order, fmt.Sprintf("{name: %s, after: %s}", position["name"], position["after"]))
	}
	e.rep.NotSupportedBy(report.TargetLacks, g.Subject, targetName, path, fmt.Sprintf(
		"%s has %s, which is not in the input: %s pass by authorization and limits of rates that are for a rule's "+
			"sectionName, unless its spec.filterOrder ends with [%s]",
		from,
		g.Parameters.Ref,
		lacking,
		strings.Join(order, ", "),
	))
}

// completeProxy adds what sessions need; p is nil for an EnvoyProxy of our own. Envoy Gateway runs its session filter
// before the Wasm filters, where it finds no pin; then nothing sticks, and the pin goes out to clients.
func (e *emitter) completeProxy(p *ir.Object, spec jsonObject) {
	if e.options.isNative() {
		e.allowModule(spec)
	} else {
		e.checkOrder(p, spec)
	}
	e.orderFilters(spec)
	e.setEnvironment(spec)
}

// checkOrder reports where an EnvoyProxy of the user's wants the session filter before the Wasm filters; p is nil for
// one of our own.
func (e *emitter) checkOrder(p *ir.Object, spec jsonObject) {
	for i, position := range listObjects(spec, "filterOrder") {
		name, before, after := stringField(position, "name"), stringField(position, "before"), stringField(position, "after")
		if name == sessionFilter && before == wasmFilter || name == wasmFilter && after == sessionFilter {
			e.rep.NotSupportedBy(report.TargetLacks, p.Subject, targetName, fmt.Sprintf("spec.filterOrder[%d]", i),
				"sessions need the Wasm filters before the session filter: a later entry turns the two round again")
		}
	}
}

// orderFilters puts limpet after the filters that check requests, and the session filter after limpet. Later entries
// move what earlier ones have placed, so all of ours come last; those for filters that a chain does not have do
// nothing.
func (e *emitter) orderFilters(spec jsonObject) {
	ours := e.listPositions()
	entries := listObjects(spec, "filterOrder")
	if n := len(entries) - len(ours); n >= 0 && slices.EqualFunc(entries[n:], ours, maps.Equal) {
		return
	}
	for _, position := range ours {
		appendEntry(spec, "filterOrder", position)
	}
}

// listPositions are the places of limpet and of the session filter.
func (e *emitter) listPositions() (all []jsonObject) {
	filter := wasmFilter
	if e.options.isNative() {
		filter = moduleFilter
	}
	for _, check := range checkingFilters {
		all = append(all, jsonObject{"name": filter, "after": check})
	}
	if !e.options.isNative() {
		all = append(all, jsonObject{"name": sessionFilter, "after": wasmFilter})
	}
	return all
}

// setEnvironment lets Envoy have the secret in its environment. Proxies that Envoy Gateway runs on its own host have
// its environment, and need nothing.
func (e *emitter) setEnvironment(spec jsonObject) {
	variable := e.global.Keys.EnvironmentVariable()
	provider := childObject(spec, "provider")
	if variable == "" || stringField(provider, "type") == "Host" {
		if len(provider) == 0 {
			delete(spec, "provider")
		}
		return
	}
	provider["type"] = "Kubernetes"
	workload := "envoyDeployment"
	if _, daemons := childObject(provider, "kubernetes")["envoyDaemonSet"]; daemons {
		workload = "envoyDaemonSet"
	}
	container := childObject(provider, "kubernetes", workload, "container")
	for _, one := range listObjects(container, "env") {
		if stringField(one, "name") == variable {
			return
		}
	}
	secret := jsonObject{"secretKeyRef": jsonObject{"name": secretName, "key": variable}}
	appendEntry(container, "env", jsonObject{"name": variable, "valueFrom": secret})
}

// checkProxy reports settings of the user's with which sessions lose something.
func (e *emitter) checkProxy(p *ir.Object, spec jsonObject) {
	if stringField(spec, "routingType") == byService {
		e.rep.NotSupportedBy(report.TargetLacks, p.Subject, targetName, "spec.routingType", noEndpoints)
	}
	for _, name := range []string{"mergeBackends", "mergeGateways"} {
		if on, set := spec[name]; set && on != false {
			e.rep.NotSupportedBy(report.TargetLacks, p.Subject, targetName, "spec."+name,
				"Envoy's resources have other names than limpet's patches look for: "+
					"sessions leave draining hosts and backends of weight 0")
		}
	}
}
