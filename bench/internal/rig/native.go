package rig

import (
	"encoding/json"
	"path/filepath"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The contestants that are dynamic modules of Envoy.
const (
	// Native is limpet's native filter with one policy; the others differ in that policy or in how many there are.
	Native       = "native"
	NativeHeader = "native-header"
	NativeIdle   = "native-idle"
	NativeMany   = "native-10000"
	// NativeEverywhere is enabled on every route.
	NativeEverywhere = "native-everywhere"
	// NativeEmpty is an empty module in C.
	NativeEmpty = "empty-native"
	// NativeRust is a module in Rust with limpet's token.
	NativeRust = "rust-native"
)

// native runs limpet's native filter in place of its wasm and of stateful_session.
func (r *Rig) native(l listenerTree, change func(*policyconfig.Config)) error {
	text, err := l.configure(change)
	if err != nil {
		return err
	}
	l.native(r.shippedNative(), text)
	return nil
}

func (r *Rig) shippedNative() string { return filepath.Join(r.root, "dist", "liblimpet.so") }

func rustNative(r *Rig, l listenerTree) error {
	configuration, err := json.Marshal(rustPolicies)
	if err != nil {
		return err
	}
	l.native(r.peer("librust.so"), string(configuration))
	return l.carry(&policyconfig.Config{})
}

// native has a dynamic module take the places of limpet's wasm, of the fence and of stateful_session.
func (l listenerTree) native(path, configuration string) {
	l.keep(limpet)
	l.dropHeaderRemovals()
	l.filter(limpet)["typed_config"] = object{
		"@type":                 "type.googleapis.com/envoy.extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter",
		"dynamic_module_config": object{"name": "limpet", "module": object{"local": object{"filename": path}}},
		"filter_name":           "session",
		"filter_config":         object{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": configuration},
	}
}
