package rig

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The contestants. All start from the listener that limpet compile makes, so all else is equal.
const (
	// None has no filter but the router.
	None = "none"
	// Unsigned is Envoy's stateful_session with a cookie that any client can forge.
	Unsigned = "unsigned"
	// TinyGo is an empty filter in TinyGo.
	TinyGo = "tinygo"
	// Lua reads the cookie and sets the pin header.
	Lua = "lua"
	// Rust is a proxy-wasm filter in Rust with limpet's token.
	Rust = "rust"
	// Limpet is the shipped module with one policy; the others differ in that policy or in how many there are.
	Limpet       = "limpet"
	LimpetHeader = "limpet-header"
	LimpetIdle   = "limpet-idle"
	LimpetMany   = "limpet-10000"
	// LimpetEverywhere has its filters enabled on every route, as in a configuration written by hand.
	LimpetEverywhere = "limpet-everywhere"
)

// Many is how many policies LimpetMany has.
const Many = 10_000

// The scopes of the two policies and the route of the first, as the compiler names them.
const (
	CookieScope = "HTTPRoute/default/app/rule/cart"
	HeaderScope = "HTTPRoute/default/app/rule/x-cart"
	cookieRoute = "httproute/default/app/rule/0"
)

// listenerChange turns limpet's listener into a contestant's.
type listenerChange func(r *Rig, l listenerTree) error

var changes = map[string]listenerChange{
	None:         func(_ *Rig, l listenerTree) error { l.keep(); l.dropHeaderRemovals(); return nil },
	Unsigned:     unsigned,
	TinyGo:       emptyFilter,
	Lua:          lua,
	Rust:         rust,
	Limpet:       func(r *Rig, l listenerTree) error { return r.limpet(l, Limpet, r.wasm, keepPolicy("cart")) },
	LimpetHeader: func(r *Rig, l listenerTree) error { return r.limpet(l, LimpetHeader, r.wasm, keepPolicy("x-cart")) },
	LimpetIdle:   func(r *Rig, l listenerTree) error { return r.limpet(l, LimpetIdle, r.wasm, withIdleTimeout) },
	LimpetMany:   func(r *Rig, l listenerTree) error { return r.limpet(l, LimpetMany, r.wasm, withManyPolicies) },
	LimpetEverywhere: func(r *Rig, l listenerTree) error {
		text, err := l.everywhere()
		l.module(r.wasm, LimpetEverywhere, text)
		return err
	},
	NativeEverywhere: func(r *Rig, l listenerTree) error {
		text, err := l.everywhere()
		l.native(r.shippedNative(), text)
		return err
	},
	Native:       func(r *Rig, l listenerTree) error { return r.native(l, keepPolicy("cart")) },
	NativeHeader: func(r *Rig, l listenerTree) error { return r.native(l, keepPolicy("x-cart")) },
	NativeIdle:   func(r *Rig, l listenerTree) error { return r.native(l, withIdleTimeout) },
	NativeMany:   func(r *Rig, l listenerTree) error { return r.native(l, withManyPolicies) },
	NativeEmpty:  func(r *Rig, l listenerTree) error { l.native(r.peer("libempty.so"), ""); return nil },
	NativeRust:   rustNative,
}

func unsigned(_ *Rig, l listenerTree) error {
	l.keep(pinner)
	l.dropHeaderRemovals()
	at(l.filter(pinner), "typed_config").(object)["session_state"] = object{
		"name": "envoy.http.stateful_session.cookie",
		"typed_config": object{
			"@type":  "type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState",
			"cookie": object{"name": "cart", "path": "/cart"},
		},
	}
	return nil
}

func emptyFilter(r *Rig, l listenerTree) error {
	l.keep(limpet)
	l.dropHeaderRemovals()
	l.module(r.peer("tinygo.wasm"), TinyGo, "")
	return nil
}

// lua and rust do limpet's work in limpet's place: between the fence and stateful_session.
func lua(r *Rig, l listenerTree) error {
	code, err := os.ReadFile(filepath.Join(r.root, "bench", "peers", "lua", "filter.lua"))
	if err != nil {
		return err
	}
	l.filter(limpet)["typed_config"] = object{
		"@type":               "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
		"default_source_code": object{"inline_string": string(code)},
	}
	return nil
}

// rustPolicies are the policies of both modules in Rust.
var rustPolicies = []object{{
	"name": "default/app/rule/0", "scope": CookieScope, "route": cookieRoute, "cookie": "cart",
	"attributes": "; Path=/cart; Secure; HttpOnly; SameSite=Strict", "absolute_timeout": 8 * 3600,
}}

func rust(r *Rig, l listenerTree) error {
	configuration, err := json.Marshal(rustPolicies)
	if err != nil {
		return err
	}
	l.module(r.peer("rust.wasm"), Rust, string(configuration))
	return l.carry(&policyconfig.Config{}) // it knows the route by its bare name
}

// Variant is the name of the contestant that runs another build of the filter, given by its path.
func Variant(path string) string { return "variant:" + path }

// build returns the change that makes a contestant of limpet's listener.
func build(name string) listenerChange {
	if path, ok := strings.CutPrefix(name, "variant:"); ok {
		return func(r *Rig, l listenerTree) error { return r.limpet(l, name, path, keepPolicy("cart")) }
	}
	return changes[name]
}

// limpet makes the listener run a build of limpet's module, with changed policies.
func (r *Rig) limpet(l listenerTree, name, path string, change func(*policyconfig.Config)) error {
	text, err := l.configure(change)
	if err != nil {
		return err
	}
	l.module(path, name, text)
	return nil
}

// configure changes the listener's policies, and returns the filter's configuration.
func (l listenerTree) configure(change func(*policyconfig.Config)) (string, error) {
	config, err := l.policies()
	if err != nil {
		return "", err
	}
	change(&config)
	if err := l.carry(&config); err != nil {
		return "", err
	}
	text, err := policyconfig.Marshal(config)
	return string(text), err
}

// everywhere enables the filters on every route, and returns the filter's configuration, which has the policy itself.
func (l listenerTree) everywhere() (string, error) {
	for _, filter := range l.manager()["http_filters"].([]any) {
		delete(filter.(object), "disabled")
	}
	levels := append(l.routes(), at(l.manager(), "route_config"), at(l.manager(), "route_config", "virtual_hosts", 0))
	for _, level := range levels {
		delete(level.(object), "typed_per_filter_config")
	}
	config, err := l.policies()
	if err != nil {
		return "", err
	}
	keepPolicy("cart")(&config)
	text, err := policyconfig.Marshal(config)
	if err != nil {
		return "", err
	}
	return string(text), l.carry(&policyconfig.Config{}) // routes have their bare names
}

// keepPolicy keeps only the policy with that session name.
func keepPolicy(sessionName string) func(*policyconfig.Config) {
	return func(c *policyconfig.Config) {
		for _, policy := range c.Policies {
			if policy.SessionName == sessionName {
				c.Policies = []policyconfig.Policy{policy}
				return
			}
		}
	}
}

// withIdleTimeout keeps the policy of cart, with an idle timeout: tokens are renewed.
func withIdleTimeout(c *policyconfig.Config) {
	keepPolicy("cart")(c)
	c.Policies[0].IdleTimeout = policyconfig.Duration(3600)
}

// withManyPolicies adds policies on routes of their own until there are Many.
func withManyPolicies(c *policyconfig.Config) {
	keepPolicy("cart")(c)
	for i := range Many - 1 {
		policy := c.Policies[0]
		policy.Name = fmt.Sprintf("default/other-%d/rule/0", i)
		policy.Scope = fmt.Sprintf("HTTPRoute/default/other-%d/rule/0", i)
		policy.Routes = []string{fmt.Sprintf("httproute/default/other-%d/rule/0", i)}
		c.Policies = append(c.Policies, policy)
	}
}
