// Package policyconfig is the contract between limpet's compiler and its wasm filter: the plugin's JSON,
// its types, defaults, strict decoding and validation. People who run plain Envoy may write it by hand;
// docs/plugin-config.md is its reference.
//
// The package is built into limpet.wasm by TinyGo, so it imports nothing but the standard library and gjson,
// and never encoding/json outside files that TinyGo does not build.
package policyconfig

// Version is the one version of the plugin configuration that this package reads and writes.
const Version = "limpet.dev/v1"

// Config is the plugin configuration: everything the filter needs (no shared state, no call-outs).
// A value returned by Parse has every default filled in.
type Config struct {
	// Version must be "limpet.dev/v1". Required.
	Version string `json:"version"`
	// Keys says where the key ring comes from. Default: the environment variable LIMPET_KEYS.
	Keys Keys `json:"keys"`
	// PinHeader is the internal header that Envoy's stateful_session filter reads and writes.
	// Default "x-limpet-pin". Lower case, not a reserved header; never forwarded to a backend or a client.
	PinHeader string `json:"pinHeader"`
	// ClockSkew is how far in the future a token's dates may lie, for proxies' clocks differ. At most 1h. Default 1m.
	ClockSkew Duration `json:"clockSkew"`
	// AccessLog makes the filter publish each request's outcome as filter state for access logs
	// (%FILTER_STATE(wasm.limpet:PLAIN)%). Default false: it costs a host call per request.
	AccessLog bool `json:"accessLog,omitempty"`
	// Policies are the session policies; each Envoy route has at most one (or one per cluster). Required.
	Policies []Policy `json:"policies"`
}

// Keys names one source of the key ring, at most. Default: fromEnv.
type Keys struct {
	// FromEnv is the environment variable that holds the ring's JSON: A-Z, 0-9 and _. Default "LIMPET_KEYS".
	FromEnv string `json:"fromEnv,omitempty"`
	// Ring is the ring itself, in the clear.
	Ring *KeyRing `json:"ring,omitempty"`
	// Sealed is the ring sealed under the root secret in the environment variable LIMPET_ROOT (limpet --seal-keys).
	Sealed string `json:"sealed,omitempty"`
}

// KeyRing is an ordered set of signing keys: the first that may sign does, all of them verify.
type KeyRing struct {
	// Keys are the ring's keys, 1 to 16, in the order in which they sign. Required.
	Keys []Key `json:"keys"`
}

// Key is one signing key.
type Key struct {
	// ID names the key in tokens and logs: 1 to 64 characters of A-Z a-z 0-9 . _ -, unique in the ring.
	ID string `json:"id"`
	// Secret is the key, 32 to 128 bytes, as URL-safe base64 without padding.
	Secret Secret `json:"secret"`
	// NotBefore, RFC 3339, is when the key starts to sign; it verifies from the start. Absent: at once.
	NotBefore Time `json:"notBefore,omitzero"`
	// NotAfter, RFC 3339, is when the key stops to sign and to verify. Absent: never.
	NotAfter Time `json:"notAfter,omitzero"`
}

// Type says what carries the token (GEP-1619, SessionPersistenceType).
type Type string

// The supported types.
const (
	TypeCookie Type = "Cookie"
	TypeHeader Type = "Header"
)

// Policy is session persistence for one set of Envoy routes.
type Policy struct {
	// Name appears in counters and logs: 1 to 253 visible ASCII characters, unique in the configuration. Required.
	Name string `json:"name"`
	// Scope is what tokens are bound to: a token of one scope is void in every other.
	// Policies that are to share sessions have the same scope. 1 to 512 visible ASCII characters. Default: Name.
	Scope string `json:"scope"`
	// Routes are the names of the Envoy routes that the policy holds for; at least one. Required.
	Routes []string `json:"routes"`
	// Clusters restricts the policy to requests for which Envoy chose one of these clusters
	// (Gateway API 1.7 semantics, weighted_clusters). Absent: all clusters of the routes.
	Clusters []string `json:"clusters,omitempty"`
	// Type is what carries the token. Default Cookie.
	Type Type `json:"type"`
	// SessionName is the name of the cookie or header: an RFC 9110 token of at most 256 characters, as a header not
	// a reserved one. Header names are compared without regard to case. Required.
	SessionName string `json:"sessionName"`
	// AbsoluteTimeout ends a session that long after it began. At most 87600h. Absent or 0s: never.
	AbsoluteTimeout Duration `json:"absoluteTimeout,omitempty"`
	// IdleTimeout ends a session that has seen no request for that long. At most AbsoluteTimeout. Absent or 0s: never.
	IdleTimeout Duration `json:"idleTimeout,omitempty"`
	// RenewAfterPercent is the share of IdleTimeout, 1 to 99, that must have passed since the token was written
	// before it is written anew. Default 25: at most four Set-Cookie an idle period, and a session may
	// end up to a quarter of the idle timeout early, never late.
	RenewAfterPercent int `json:"renewAfterPercent"`
	// Cookie holds the cookie's attributes; only with type Cookie.
	Cookie *Cookie `json:"cookie,omitempty"`
	// RevealHost leaves the host's address readable in the token, for debugging. Default false.
	RevealHost bool `json:"revealHost,omitempty"`
	// Forward passes the token on to the backend (GEP-1619 SHOULD). Default true.
	Forward bool `json:"forward"`
	// OnHostLost says what happens when the session's host can't serve. Default Rebalance.
	OnHostLost OnHostLost `json:"onHostLost"`
	// FailStatus is the HTTP status answered under OnHostLost Fail: 400 to 599. Default 503.
	FailStatus int `json:"failStatus"`
	// EndSessionHeader names a response header whose presence ends the session (logout); not a reserved one.
	// Absent: none.
	EndSessionHeader string `json:"endSessionHeader,omitempty"`
	// IssueOn says on which connections tokens are issued: Any, or only where the request came over TLS
	// (x-forwarded-proto: https). Default Any.
	IssueOn IssueOn `json:"issueOn"`
	// Cache keeps tokens out of shared caches.
	Cache Cache `json:"cache,omitzero"`
	// Revocation voids older sessions without a change of keys.
	Revocation Revocation `json:"revocation,omitzero"`
}

// OnHostLost is what becomes of a session whose host is gone, unhealthy or refuses.
type OnHostLost string

// The choices: balance anew with a new token in the same response, or answer FailStatus.
const (
	Rebalance OnHostLost = "Rebalance"
	Fail      OnHostLost = "Fail"
)

// IssueOn is a condition on the client's connection.
type IssueOn string

// Tokens are issued on any connection, or only where the request came over TLS (x-forwarded-proto: https).
const (
	IssueOnAny IssueOn = "Any"
	IssueOnTLS IssueOn = "TLS"
)

// LifetimeType is whether a cookie outlives the browser session (GEP-1619, CookieLifetimeType).
type LifetimeType string

// Session cookies have neither Expires nor Max-Age; Permanent ones have both, equal to AbsoluteTimeout.
const (
	LifetimeSession   LifetimeType = "Session"
	LifetimePermanent LifetimeType = "Permanent"
)

// SameSite is the cookie attribute of that name (RFC 6265bis §5.6.7).
type SameSite string

// The values of SameSite.
const (
	SameSiteStrict SameSite = "Strict"
	SameSiteLax    SameSite = "Lax"
	SameSiteNone   SameSite = "None"
)

// Cookie holds a cookie's attributes. The defaults are the safe ones that GEP-1619 asks for.
type Cookie struct {
	// Path attribute: begins with "/". Default "/"; the empty string leaves the attribute out.
	Path string `json:"path"`
	// Domain attribute: a host name without a leading dot. Absent: a host-only cookie.
	Domain string `json:"domain,omitempty"`
	// LifetimeType: Permanent needs AbsoluteTimeout. Default Session.
	LifetimeType LifetimeType `json:"lifetimeType"`
	// Secure attribute. Default true.
	Secure bool `json:"secure"`
	// HTTPOnly attribute. Default true.
	HTTPOnly bool `json:"httpOnly"`
	// SameSite attribute. Default Strict; None needs secure.
	SameSite SameSite `json:"sameSite"`
	// Partitioned attribute (CHIPS); needs secure. Default false.
	Partitioned bool `json:"partitioned,omitempty"`
	// Attributes are further ones, each written as Name or Name=Value; none that has a field of its own, each name once.
	Attributes []string `json:"attributes,omitempty"`
}

// CacheControl is what a response that sets a token says to caches.
type CacheControl string

// Leave the response's own Cache-Control, or replace it.
const (
	CacheControlKeep    CacheControl = "Keep"
	CacheControlPrivate CacheControl = "Private"
	CacheControlNoStore CacheControl = "NoStore"
)

// Cache says how tokens and caches get along. The zero value changes nothing.
type Cache struct {
	// Control is put on responses that set a token. Default Keep.
	Control CacheControl `json:"control,omitempty"`
	// SkipCacheable never issues a token on a response that a shared cache may store, nor on a 304.
	SkipCacheable bool `json:"skipCacheable,omitempty"`
	// UnsafeMethodsOnly issues tokens only after unsafe methods (RFC 9110 §9.2.1), as HAProxy's postonly.
	UnsafeMethodsOnly bool `json:"unsafeMethodsOnly,omitempty"`
}

// Revocation voids sessions that began before it.
type Revocation struct {
	// Epoch is signed into tokens; tokens of another epoch are void. 0 to 4294967295. Default 0.
	Epoch uint32 `json:"epoch,omitempty"`
	// NotBefore, RFC 3339, voids sessions that began earlier.
	NotBefore Time `json:"notBefore,omitzero"`
}
