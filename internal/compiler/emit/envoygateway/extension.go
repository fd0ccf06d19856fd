package envoygateway

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// filterName is the plugin's name and root id.
const filterName = "limpet"

// writeExtensions load the filter for the routes with sessions: one policy for each namespace, and so one VM for each
// of Envoy's threads, for a policy's targets are in its own namespace.
func (e *emitter) writeExtensions() {
	for _, namespace := range e.listNamespaces() {
		var refs []any
		var policies []policyconfig.Policy
		listed := map[*ir.RouteObject]bool{}
		for _, r := range e.rules {
			if r.Route.Namespace != namespace {
				continue
			}
			if !listed[r.Route] {
				listed[r.Route] = true
				refs = append(refs, newTargetRef(r.Route.Kind, r.Route.Name))
			}
			policies = append(policies, r.policies...)
		}
		slices.SortFunc(policies, comparePolicies)
		// Merged with a Gateway's, so that what else the Gateway has stays.
		spec := jsonObject{"targetRefs": refs, "mergeType": "StrategicMerge"}
		field, filter := e.newFilter(policies)
		spec[field] = []any{filter}
		e.addDocument(e.newDocument(kindExtension, asOwner(namespace), filterName, spec))
	}
	e.reportReplacedFilters()
}

// asOwner is a namespace as what needs an object.
func asOwner(namespace string) object.Ref { return object.Ref{Namespace: namespace} }

func (e *emitter) listNamespaces() []string {
	var all []string
	for _, r := range e.rules {
		all = append(all, r.Route.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// newFilter is the filter, and the field of a policy that it stands in.
func (e *emitter) newFilter(policies []policyconfig.Policy) (field string, filter jsonObject) {
	if e.options.isNative() {
		return dynamicModule, jsonObject{
			"name":       filterName,
			"filterName": filtermodule.NativeFilter,
			"config":     e.newConfig(policies),
		}
	}
	return "wasm", e.newWasm(policies)
}

// newConfig is the filter's own configuration.
func (e *emitter) newConfig(policies []policyconfig.Policy) jsonObject {
	_, text, err := plugin.Emit(policies, e.global)
	config := jsonObject{}
	if err == nil {
		err = parseJSON(text, &config)
	}
	if err != nil && e.err == nil {
		e.err = err
	}
	return config
}

// newWasm is limpet.wasm. While it can't run, requests of its routes are refused.
func (e *emitter) newWasm(policies []policyconfig.Policy) jsonObject {
	wasm := jsonObject{
		"name": filterName, "rootID": filterName, "code": e.options.newCodeSource(), "config": e.newConfig(policies),
		"failOpen": false,
	}
	if variable := e.global.Keys.EnvironmentVariable(); variable != "" {
		wasm["env"] = jsonObject{"hostKeys": []any{variable}}
	}
	return wasm
}

// findOtherExtension names a policy of another's for the same route. One that limpet wrote is not: it is written again,
// or, as another owner's, refused then.
func (e *emitter) findOtherExtension(r *sessionRule) string {
	for _, p := range e.plan.Objects[kindExtension] {
		if p.Namespace != r.Route.Namespace || e.isReplaced(p, filterName) {
			continue
		}
		spec := childObject(e.editDocument(p), "spec")
		for _, ref := range listTargets(spec) {
			if stringField(ref, "kind") == r.Route.Kind && stringField(ref, "name") == r.Route.Name {
				return p.Key()
			}
		}
		if slices.ContainsFunc(
			listObjects(spec, "targetSelectors"),
			func(s jsonObject) bool { return selectsRoute(s, r.Route) },
		) {
			return p.Key()
		}
	}
	return ""
}

// selectsRoute tells whether one of a policy's targetSelectors selects a route; of those with expressions it is taken
// for granted.
func selectsRoute(selector jsonObject, route *ir.RouteObject) bool {
	if stringField(selector, "kind") != route.Kind {
		return false
	}
	labels, _ := selector["matchLabels"].(jsonObject)
	for name, value := range labels {
		if have, is := route.Labels[name]; !is || have != value {
			return false
		}
	}
	return true
}

// reportReplacedFilters reports filters of limpet's kind in a Gateway's own policy, which routes with sessions lose: of
// two merged policies the route's list counts.
func (e *emitter) reportReplacedFilters() {
	field, what := "wasm", "Wasm filter"
	if e.options.isNative() {
		field, what = dynamicModule, "dynamic module"
	}
	for _, p := range e.plan.Objects[kindExtension] {
		doc := e.editDocument(p)
		if len(listObjects(childObject(doc, "spec"), field)) == 0 {
			continue
		}
		for _, g := range e.listGateways() {
			if aims, _ := targetsGateway(p, doc, g); aims {
				e.rep.NotSupportedBy(report.TargetLacks, p.Subject, targetName, "spec."+field,
					"routes with sessions have limpet's "+what+" in their place")
				break
			}
		}
	}
}
