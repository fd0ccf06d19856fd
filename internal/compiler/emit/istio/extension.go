package istio

import (
	"encoding/json"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// DefaultFailStrategy brings a VM that trapped back by itself; until then the proxies' requests get 500.
const DefaultFailStrategy = "FAIL_RELOAD"

// newExtension is the WasmPlugin, or TrafficExtension, that puts the filter into proxies. Whatever its phase, it stands
// before the filter that the EnvoyFilter inserts before the router.
func (e *emitter) newExtension(p *proxySet, config policyconfig.Config, text []byte) document {
	wasm := map[string]any{
		"url": e.WasmURL, "pluginName": "limpet", "type": "HTTP", "failStrategy": e.FailStrategy,
		"pluginConfig": e.decodeConfig(text),
	}
	if e.WasmSHA256 != "" {
		wasm["sha256"] = e.WasmSHA256
	}
	if env := config.Keys.EnvironmentVariable(); env != "" {
		wasm["vmConfig"] = map[string]any{"env": []any{map[string]any{"name": env, "valueFrom": "HOST"}}}
	}
	spec := wasm
	if e.TrafficExtension {
		spec = map[string]any{"wasm": wasm}
	}
	p.addSelector(spec)
	if e.Phase != "" {
		spec["phase"] = e.Phase
	}
	if e.Priority != nil {
		spec["priority"] = *e.Priority
	}
	return e.newDocument("extensions.istio.io/v1alpha1", e.extensionKind(), p, spec)
}

// extensionKind is the kind of the object that loads the filter.
func (e *emitter) extensionKind() string {
	if e.TrafficExtension {
		return "TrafficExtension"
	}
	return "WasmPlugin"
}

// addSelector says in a spec which proxies it is for.
func (p *proxySet) addSelector(spec map[string]any) {
	if p.gateway == "" {
		spec["selector"] = map[string]any{"matchLabels": p.labels}
		return
	}
	spec["targetRefs"] = []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": p.gateway}}
}

// decodeConfig is the filter's configuration as a part of a document.
func (e *emitter) decodeConfig(text []byte) (value any) {
	if err := json.Unmarshal(text, &value); err != nil && e.err == nil {
		e.err = err
	}
	return value
}
