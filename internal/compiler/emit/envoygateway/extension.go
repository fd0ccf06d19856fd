package envoygateway

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/policy-config"
)

// filterName is the plugin's name and root id.
const filterName = "limpet"

// extensions load the filter for the routes with sessions: one policy for each namespace, and so one VM for each of
// Envoy's threads, for a policy's targets are in its own namespace.
func (e *emitter) extensions() {
	for _, namespace := range e.namespaces() {
		var refs []any
		var policies []policyconfig.Policy
		listed := map[*gateway.Route]bool{}
		for _, r := range e.rules {
			if r.route.Namespace != namespace {
				continue
			}
			if !listed[r.route] {
				listed[r.route] = true
				refs = append(refs, targetRef(r.route.Kind, r.route.Name))
			}
			policies = append(policies, r.policies...)
		}
		slices.SortFunc(policies, byName)
		e.add(created(kindExtension, namespace, filterName, object{
			"targetRefs": refs,
			// Merged with a Gateway's, so that what else the Gateway has stays.
			"mergeType": "StrategicMerge",
			"wasm":      []any{e.wasm(policies)},
		}))
	}
	e.replacedWasm()
}

func (e *emitter) namespaces() []string {
	var all []string
	for _, r := range e.rules {
		all = append(all, r.route.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wasm is the filter. While it can't run, requests of its routes are refused.
func (e *emitter) wasm(policies []policyconfig.Policy) object {
	_, text, err := plugin.Emit(policies, e.Keys, nil)
	config := object{}
	if err == nil {
		err = parse(text, &config)
	}
	if err != nil && e.err == nil {
		e.err = err
	}
	wasm := object{"name": filterName, "rootID": filterName, "code": e.Module.source(), "config": config, "failOpen": false}
	if variable := e.keysVariable(); variable != "" {
		wasm["env"] = object{"hostKeys": []any{variable}}
	}
	return wasm
}

// otherExtension names a policy of the user's for the same route.
func (e *emitter) otherExtension(r *rule) string {
	for _, p := range e.platform(kindExtension) {
		if p.Namespace != r.route.Namespace {
			continue
		}
		spec := child(edit(e, p), "spec")
		refs := objects(spec, "targetRefs")
		if one, is := spec["targetRef"].(object); is {
			refs = append(refs, one)
		}
		for _, ref := range refs {
			if text(ref, "kind") == r.route.Kind && text(ref, "name") == r.route.Name {
				return p.Key()
			}
		}
	}
	return ""
}

// replacedWasm reports Wasm filters of a Gateway's own policy, which routes with sessions lose: of two merged policies
// the route's list counts.
func (e *emitter) replacedWasm() {
	for _, p := range e.platform(kindExtension) {
		doc := edit(e, p)
		if len(objects(child(doc, "spec"), "wasm")) == 0 {
			continue
		}
		for _, g := range e.gateways() {
			if aims, _ := aimsAt(p, doc, g); aims {
				e.rep.NotCarried(p, target, "spec.wasm", "routes with sessions have limpet's Wasm filter in their place")
				break
			}
		}
	}
}
