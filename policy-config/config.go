// Package policyconfig is the contract between limpet's compiler and its wasm filter: the plugin's JSON,
// its types, defaults, strict decoding and validation. People who run plain Envoy may write it by hand;
// docs/plugin-config.md is its reference.
//
// The package is built into limpet.wasm by TinyGo, so it imports nothing but the standard library and gjson,
// and never encoding/json outside files that TinyGo does not build.
package policyconfig

import (
	"errors"
	"strconv"

	"github.com/tidwall/gjson"
)

// Version is the one version of the plugin configuration that this package reads and writes.
const Version = "limpet.dev/v1"

// Config is the plugin configuration: everything the filter needs (no shared state, no call-outs).
// A value returned by Parse has every default filled in.
type Config struct {
	// Version must be "limpet.dev/v1". Required.
	Version string `json:"version"`
	// Keys says where the key ring comes from. Default: the environment variable LIMPET_KEYS.
	Keys Keys `json:"keys"`
	// PinHeader is the internal header that Envoy's stateful_session filter reads and writes; it stands in Envoy's
	// configuration five times under the same name. Default "x-limpet-pin". An RFC 9110 token in lower case, not a
	// reserved header; never forwarded to a backend or a client.
	PinHeader string `json:"pinHeader"`
	// ClockSkew is how far in the future a token's dates may lie, for proxies' clocks differ; tokens further ahead are
	// void. At most 1h. Default 1m.
	ClockSkew Duration `json:"clockSkew"`
	// AccessLog makes the filter publish each request's outcome as filter state for access logs
	// (%FILTER_STATE(wasm.limpet:PLAIN)%). Default false: it costs a host call per request.
	AccessLog bool `json:"accessLog,omitempty"`
	// AccessLogFields publishes more of each request's session for access logs and traces, as
	// %FILTER_STATE(wasm.limpet_NAME:PLAIN)%: outcome, policy, and where they are known age (in seconds), host (which the
	// token named) and reason (why the session moved or failed). Default false: it costs two host calls per request, and
	// one for each that is known.
	AccessLogFields bool `json:"accessLogFields,omitempty"`
	// SessionDigest publishes session too, a keyed digest of the session's id that follows the session; only with
	// accessLogFields. Default false.
	SessionDigest bool `json:"sessionDigest,omitempty"`
	// DebugTickets answers requests that have a ticket for the policy's scope in the header limpet-ticket with the outcome
	// in the header limpet-session and Cache-Control: no-store; the ticket goes no further. Default false: it costs a host
	// call per request.
	DebugTickets bool `json:"debugTickets,omitempty"`
	// Policies are the session policies; each Envoy route has at most one (or one per cluster). Required.
	Policies []Policy `json:"policies"`
}

// Keys names one source of the key ring, at most. Default: fromEnv.
type Keys struct {
	// FromEnv is the environment variable that holds the ring's JSON: A-Z, 0-9 and _, not beginning with a digit (POSIX
	// XBD 8.1). Default "LIMPET_KEYS". Name it in host_env_keys too.
	FromEnv string `json:"fromEnv,omitempty"`
	// Ring is the ring itself, in the clear: all who read /config_dump have it.
	Ring *KeyRing `json:"ring,omitempty"`
	// Sealed is the ring sealed, by limpet plugin seal or limpet compile --keys FILE, under the root secret in the
	// environment variable LIMPET_ROOT: "1." and 55 or more of URL-safe base64 without padding.
	Sealed string `json:"sealed,omitempty"`
	// Gateway says that there is no ring: each route comes with the keys of its scopes, sealed for the Gateway of that
	// namespace, name and uid (NAMESPACE/NAME/UID) under its own root secret in LIMPET_ROOT, or one from which that is
	// derived; there are no policies then. limpet serve --manage-proxies writes it.
	Gateway string `json:"gateway,omitempty"`
}

// KeyRing is an ordered set of signing keys: the first that may sign does, all of them verify.
type KeyRing struct {
	// Keys are the ring's keys, 1 to 16, in the order in which they sign: the first that may sign does, all of them
	// verify. Required.
	Keys []Key `json:"keys"`
	// NotAfter, RFC 3339, is when every key of the ring stops to sign and to verify, whatever its own notAfter: a copy of
	// the ring, sealed or not, is good for nothing from then on. After every key's notBefore. Absent: never.
	NotAfter Time `json:"notAfter,omitzero"`
}

// EndOf is when a key of the ring stops to sign and to verify; 0 is never.
func (r *KeyRing) EndOf(k *Key) Time {
	if k.NotAfter == 0 || r.NotAfter != 0 && r.NotAfter < k.NotAfter {
		return r.NotAfter
	}
	return k.NotAfter
}

// Key is one signing key.
type Key struct {
	// ID names the key in tokens, which hold a hash of it, and logs: 1 to 64 characters of A-Z a-z 0-9 . _ -, unique in
	// the ring.
	ID string `json:"id"`
	// Secret is the key, 32 to 128 bytes (RFC 2104, section 3: no fewer than the hash has), as URL-safe base64 without
	// padding.
	Secret Secret `json:"secret"`
	// NotBefore, RFC 3339, is when the key starts to sign; it verifies from the start. Absent: at once.
	NotBefore Time `json:"notBefore,omitzero"`
	// NotAfter, RFC 3339, after NotBefore, is when the key stops to sign and to verify. Absent: never.
	NotAfter Time `json:"notAfter,omitzero"`
}

var errSecretLength = errors.New("must be " + strconv.Itoa(MinSecret) + " to " + strconv.Itoa(MaxSecret) + " bytes")

// The tables of the decoder: every field of every type, by its name in JSON.

var configFields = []field[Config]{
	{name: schemaField, set: passedOver[Config]},
	{name: "version", required: true, set: enum(versions, func(c *Config) *string { return &c.Version })},
	{name: "keys", set: hiding(nested(keysFields, func(c *Config) *Keys { return &c.Keys }))},
	{name: "pinHeader", set: textSetter(&pinRule, func(c *Config) *string { return &c.PinHeader })},
	{name: "clockSkew", set: duration(skewRange, func(c *Config) *Duration { return &c.ClockSkew })},
	{name: "accessLog", set: boolean(func(c *Config) *bool { return &c.AccessLog })},
	{name: "accessLogFields", set: boolean(func(c *Config) *bool { return &c.AccessLogFields })},
	{name: "sessionDigest", set: boolean(func(c *Config) *bool { return &c.SessionDigest })},
	{name: "debugTickets", set: boolean(func(c *Config) *bool { return &c.DebugTickets })},
	{name: "policies", required: true, set: objects(policyCount, policyFields, DefaultPolicy,
		func(c *Config) *[]Policy { return &c.Policies })},
}

// schemaField says to an editor where the schema is.
const schemaField = "$schema"

// passedOver accepts a string and ignores it.
func passedOver[T any](d *decoder, at *jsonPath, v gjson.Result, _ *T) {
	if v.Type != gjson.String {
		d.wrongType(at, v, "a string")
	}
}

// hiding keeps the document's text out of the messages about a field and all below it.
func hiding(set setter[Config]) setter[Config] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *Config) {
		d.hidden = true
		set(d, at, v, into)
		d.hidden = false
	}
}

var keysFields = []field[Keys]{
	{name: "fromEnv", set: textSetter(&envRule, func(k *Keys) *string { return &k.FromEnv })},
	{name: "ring", set: nested(ringFields, func(k *Keys) *KeyRing {
		k.Ring = &KeyRing{}
		return k.Ring
	})},
	{name: "sealed", set: textSetter(&sealedRule, func(k *Keys) *string { return &k.Sealed })},
	{name: "gateway", set: textSetter(&gatewayRule, func(k *Keys) *string { return &k.Gateway })},
}

var ringFields = []field[KeyRing]{
	{
		name:     "keys",
		required: true,
		set:      objects(keyCount, keyFields, func() Key { return Key{} }, func(r *KeyRing) *[]Key { return &r.Keys }),
	},
	{name: "notAfter", set: timestamp(func(r *KeyRing) *Time { return &r.NotAfter })},
}

var keyFields = []field[Key]{
	{name: "id", required: true, set: textSetter(&keyIDRule, func(k *Key) *string { return &k.ID })},
	{name: "secret", required: true, set: secret(func(k *Key) *Secret { return &k.Secret })},
	{name: "notBefore", set: timestamp(func(k *Key) *Time { return &k.NotBefore })},
	{name: "notAfter", set: timestamp(func(k *Key) *Time { return &k.NotAfter })},
}
