package v1alpha1

import policyconfig "github.com/limpet-proxy/limpet/policy-config"

// SessionSettings are the fields of session persistence. They stand three times in a policy: plain in its spec, in
// spec.default and in spec.override. Each field merges on its own (S7); what no policy writes gets the default of
// the plugin configuration (package policyconfig), or the one that docs/semantics.md names.
//
// +kubebuilder:validation:XValidation:rule="!has(self.disabled) || !self.disabled || !(has(self.type) || has(self.sessionName) || has(self.header) || has(self.cookie) || has(self.absoluteTimeout) || has(self.absoluteTimeoutSeconds) || has(self.idleTimeout) || has(self.idleTimeoutSeconds) || has(self.renewAfterPercent) || has(self.drainTimeout) || has(self.keepUnselected) || has(self.identity) || has(self.onHostLost) || has(self.failStatus) || has(self.endSessionHeader) || has(self.issueOn) || has(self.cache) || has(self.revocation) || has(self.revealHost) || has(self.envelope) || has(self.forward) || has(self.unset))",message="true excludes every other field",fieldPath=".disabled",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.absoluteTimeoutSeconds) || !has(self.absoluteTimeout)",message="may not be set together with absoluteTimeout",fieldPath=".absoluteTimeoutSeconds",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.idleTimeoutSeconds) || !has(self.idleTimeout)",message="may not be set together with idleTimeout",fieldPath=".idleTimeoutSeconds",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.cookie) || !has(self.type) || self.type == 'Cookie'",message="may only be set with type Cookie",fieldPath=".cookie",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.header) || has(self.type) && self.type == 'Header'",message="may only be set with type: Header",fieldPath=".header",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.header) || !has(self.sessionName)",message="may not be set together with header, which names the session",fieldPath=".sessionName",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Header' || !has(self.sessionName) || !self.sessionName.matches('(?i)^(accept|accept-.*|access-control-.*|age|authentication-info|authorization|cache-control|connection|content-.*|cookie|date|etag|expect|expires|forwarded|grpc-.*|host|http2-settings|if-.*|keep-alive|last-modified|location|origin|pragma|proxy-.*|range|referer|retry-after|sec-.*|server|set-cookie|strict-transport-security|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|www-authenticate|x-envoy-.*|x-forwarded-.*|x-limpet-pin|x-limpet-shard|x-request-id)$')",message="must not be a header that HTTP, proxies, browsers or limpet itself use",fieldPath=".sessionName",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.cookie) || !has(self.cookie.lifetimeType) || self.cookie.lifetimeType != 'Permanent' || has(self.absoluteTimeout) || has(self.absoluteTimeoutSeconds)",message="a cookie with lifetimeType Permanent ends when it has passed",fieldPath=".absoluteTimeout",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.idleTimeout) || !self.idleTimeout.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || (!has(self.absoluteTimeout) || !self.absoluteTimeout.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self.idleTimeout) <= duration(self.absoluteTimeout)) && (!has(self.absoluteTimeoutSeconds) || duration(self.idleTimeout).getSeconds() <= self.absoluteTimeoutSeconds)",message="must not be longer than the absolute timeout",fieldPath=".idleTimeout",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.idleTimeoutSeconds) || (!has(self.absoluteTimeout) || !self.absoluteTimeout.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || self.idleTimeoutSeconds <= duration(self.absoluteTimeout).getSeconds()) && (!has(self.absoluteTimeoutSeconds) || self.idleTimeoutSeconds <= self.absoluteTimeoutSeconds)",message="must not be longer than the absolute timeout",fieldPath=".idleTimeoutSeconds",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.sessionName) || !self.sessionName.matches('(?i)^__(Secure|Host|Http)-') || !has(self.cookie) || !has(self.cookie.secure) || self.cookie.secure",message="the session's name begins with __Secure-, __Host- or __Http-, which needs Secure (RFC 6265bis)",fieldPath=".cookie.secure",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.sessionName) || !self.sessionName.matches('(?i)^__Host-') || !has(self.cookie) || !has(self.cookie.path) || self.cookie.path == '/'",message="the session's name begins with __Host-, which needs the path / (RFC 6265bis)",fieldPath=".cookie.path",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.sessionName) || !self.sessionName.matches('(?i)^__Host-') || !has(self.cookie) || !has(self.cookie.domain)",message="the session's name begins with __Host-, which allows no Domain (RFC 6265bis)",fieldPath=".cookie.domain",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.sessionName) || !self.sessionName.matches('(?i)^__(Host-)?Http-') || !has(self.cookie) || !has(self.cookie.httpOnly) || self.cookie.httpOnly",message="the session's name begins with __Http- or __Host-Http-, which needs HttpOnly",fieldPath=".cookie.httpOnly",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.unset) || !('sessionName' in self.unset && (has(self.sessionName) || has(self.header)) || 'absoluteTimeout' in self.unset && (has(self.absoluteTimeout) || has(self.absoluteTimeoutSeconds)) || 'idleTimeout' in self.unset && (has(self.idleTimeout) || has(self.idleTimeoutSeconds)) || 'renewAfterPercent' in self.unset && (has(self.renewAfterPercent)) || 'drainTimeout' in self.unset && (has(self.drainTimeout)) || 'keepUnselected' in self.unset && (has(self.keepUnselected)) || 'identity' in self.unset && (has(self.identity)) || 'onHostLost' in self.unset && (has(self.onHostLost)) || 'failStatus' in self.unset && (has(self.failStatus)) || 'endSessionHeader' in self.unset && (has(self.endSessionHeader)) || 'issueOn' in self.unset && (has(self.issueOn)) || 'revealHost' in self.unset && (has(self.revealHost)) || 'envelope' in self.unset && (has(self.envelope)) || 'forward' in self.unset && (has(self.forward)) || 'cookie' in self.unset && (has(self.cookie)) || 'cookie.lifetimeType' in self.unset && (has(self.cookie) && has(self.cookie.lifetimeType)) || 'cookie.path' in self.unset && (has(self.cookie) && has(self.cookie.path)) || 'cookie.domain' in self.unset && (has(self.cookie) && has(self.cookie.domain)) || 'cookie.sameSite' in self.unset && (has(self.cookie) && has(self.cookie.sameSite)) || 'cookie.secure' in self.unset && (has(self.cookie) && has(self.cookie.secure)) || 'cookie.httpOnly' in self.unset && (has(self.cookie) && has(self.cookie.httpOnly)) || 'cookie.partitioned' in self.unset && (has(self.cookie) && has(self.cookie.partitioned)) || 'cookie.crossSite' in self.unset && (has(self.cookie) && has(self.cookie.crossSite)) || 'cookie.attributes' in self.unset && (has(self.cookie) && has(self.cookie.attributes)) || 'cache' in self.unset && (has(self.cache)) || 'cache.control' in self.unset && (has(self.cache) && has(self.cache.control)) || 'cache.skipCacheable' in self.unset && (has(self.cache) && has(self.cache.skipCacheable)) || 'cache.unsafeMethodsOnly' in self.unset && (has(self.cache) && has(self.cache.unsafeMethodsOnly)) || 'revocation' in self.unset && (has(self.revocation)) || 'revocation.epoch' in self.unset && (has(self.revocation) && has(self.revocation.epoch)) || 'revocation.notBefore' in self.unset && (has(self.revocation) && has(self.revocation.notBefore)) || 'revocation.sessions' in self.unset && (has(self.revocation) && has(self.revocation.sessions)) || 'revocation.hosts' in self.unset && (has(self.revocation) && has(self.revocation.hosts)) || 'revocation.backends' in self.unset && (has(self.revocation) && has(self.revocation.backends)))",message="may not name a field that is written next to it",fieldPath=".unset",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.envelope) || !self.envelope || !has(self.cookie)",message="may not be set together with envelope: the application chooses its cookie's attributes",fieldPath=".cookie",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.cookie) || !has(self.cookie.crossSite) || !self.cookie.crossSite || !has(self.sessionName) || size(self.sessionName) <= 245",message="must leave room for -cross-site in 256 characters",fieldPath=".sessionName",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.endSessionHeader) || !(has(self.header) && self.header.name.lowerAscii() == self.endSessionHeader.lowerAscii() || has(self.type) && self.type == 'Header' && has(self.sessionName) && self.sessionName.lowerAscii() == self.endSessionHeader.lowerAscii())",message="must not be the session's own header",fieldPath=".endSessionHeader",reason=FieldValueInvalid
type SessionSettings struct {
	// Disabled switches session persistence off where true, though a policy on a weaker level
	// switches it on; such a block has no other field. False, written, switches it on and, in an override, forbids
	// to switch it off (S9).
	// +optional
	Disabled *bool `json:"disabled,omitempty"`

	// Type is what carries the session's token: a Cookie (HTTPCookie is GEP-1619's first word for it) or a Header. Where no
	// policy writes it: Cookie. There is no Query: no token goes into a URL.
	// +kubebuilder:validation:XValidation:rule="self in ['Cookie', 'HTTPCookie', 'Header', 'Query']",message="supported values: \"Cookie\", \"Header\""
	// +kubebuilder:validation:XValidation:rule="self != 'Query'",message="supported values: \"Cookie\", \"Header\"; no token goes into a URL, for logs, histories and Referer headers keep those (docs/threat-model.md)"
	// +optional
	Type *policyconfig.Type `json:"type,omitempty"`

	// SessionName is the name of the cookie or the header. Where no policy writes one, a stable and unique one is
	// generated (S25). A block that writes a type gives the name to that type only.
	// +optional
	SessionName *SessionName `json:"sessionName,omitempty"`

	// Header names the header; only with type: Header, and instead of sessionName.
	// +optional
	Header *Header `json:"header,omitempty"`

	// Cookie holds the cookie's attributes; they apply where the type turns out to be Cookie.
	// +optional
	Cookie *Cookie `json:"cookie,omitempty"`

	// AbsoluteTimeout ends a session that long after it began. Where no policy writes it: never.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) > duration('0s')",message="must be longer than 0s; leave it out for sessions that may last"
	// +optional
	AbsoluteTimeout *Duration `json:"absoluteTimeout,omitempty"`

	// AbsoluteTimeoutSeconds is AbsoluteTimeout in seconds, as GEP-1619 v1.0.0 has it. Write one of the two.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	AbsoluteTimeoutSeconds *int64 `json:"absoluteTimeoutSeconds,omitempty"`

	// IdleTimeout ends a session that has seen no request for that long. Where no policy writes it: never.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) > duration('0s')",message="must be longer than 0s; leave it out for sessions that may idle"
	// +optional
	IdleTimeout *Duration `json:"idleTimeout,omitempty"`

	// IdleTimeoutSeconds is IdleTimeout in seconds, as GEP-1619 v1.0.0 has it. Write one of the two.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	// +optional
	IdleTimeoutSeconds *int64 `json:"idleTimeoutSeconds,omitempty"`

	// RenewAfterPercent is the share of the idle timeout that must have passed before a token is written again.
	// Where no policy writes it: 25.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	// +optional
	RenewAfterPercent *int32 `json:"renewAfterPercent,omitempty"`

	// DrainTimeout is how long sessions stay on a host that terminates but still serves; 0s moves them at once.
	// Where no policy writes it: as long as the host serves.
	// +optional
	DrainTimeout *Duration `json:"drainTimeout,omitempty"`

	// KeepUnselected is how long sessions stay on a pod that runs and is ready, but that its Service no longer selects. It
	// holds where pods are watched. Where no policy writes it they move at once: relabelling is how people quarantine pods.
	// +optional
	KeepUnselected *Duration `json:"keepUnselected,omitempty"`

	// Identity says what a session is with: Pod, so that it ends when the host's address passes to another pod, Name, so that it
	// follows a pod with a stable hostname (of a StatefulSet) to another address, or Address, whoever has that. Where no policy
	// writes it: Pod.
	// +kubebuilder:validation:Enum=Pod;Name;Address
	// +optional
	Identity *Identity `json:"identity,omitempty"`

	// OnHostLost says what happens when the session's host can't serve: Rebalance begins a new session on
	// another host within the same request, RebalanceWithin on one of the same backend while there is one that takes
	// sessions, Fail answers FailStatus. Where no policy writes it: Rebalance.
	// +kubebuilder:validation:Enum=Rebalance;RebalanceWithin;Fail
	// +optional
	OnHostLost *policyconfig.OnHostLost `json:"onHostLost,omitempty"`

	// FailStatus is the HTTP status that is answered under OnHostLost Fail. Where no policy writes it: 503.
	// +kubebuilder:validation:Minimum=400
	// +kubebuilder:validation:Maximum=599
	// +optional
	FailStatus *int32 `json:"failStatus,omitempty"`

	// EndSessionHeader names a response header with which a backend ends the session (logout).
	// +optional
	EndSessionHeader *HeaderName `json:"endSessionHeader,omitempty"`

	// IssueOn says on which connections tokens are issued: Any, or TLS only. Where no policy writes it: Any.
	// +kubebuilder:validation:Enum=Any;TLS
	// +optional
	IssueOn *policyconfig.IssueOn `json:"issueOn,omitempty"`

	// Cache keeps tokens out of shared caches.
	// +optional
	Cache *Cache `json:"cache,omitempty"`

	// Revocation voids older sessions without a change of keys.
	// +optional
	Revocation *Revocation `json:"revocation,omitempty"`

	// RevealHost leaves the host's address readable in the token, for debugging. Where no policy writes it: false.
	// +optional
	RevealHost *bool `json:"revealHost,omitempty"`

	// Envelope wraps the value that the application itself sets under sessionName: the client has value and token in one signed
	// text, and the application sees its own value and chooses its cookie's attributes. Where no policy writes it: false.
	// +optional
	Envelope *bool `json:"envelope,omitempty"`

	// Forward passes the token on to the backend. Where no policy writes it: true, as GEP-1619 asks for.
	// +optional
	Forward *bool `json:"forward,omitempty"`

	// Unset takes fields away that weaker levels write, so that their built-in defaults hold (S7). cookie, cache and
	// revocation stand for all of their members. In files null does the same; API servers drop it.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Unset []FieldPath `json:"unset,omitempty"`
}

// Identity is what a session is with.
type Identity string

// The choices.
const (
	IdentityPod     Identity = "Pod"
	IdentityName    Identity = "Name"
	IdentityAddress Identity = "Address"
)

// Identities are all of them.
var Identities = []Identity{IdentityPod, IdentityName, IdentityAddress}

// Header is what is particular to type Header.
type Header struct {
	// Name is the name of the header that carries the token both ways.
	// +required
	Name HeaderName `json:"name"`
}

// Cookie holds a cookie's attributes, each merged on its own.
//
// +kubebuilder:validation:XValidation:rule="!has(self.sameSite) || self.sameSite != 'None' || !has(self.secure) || self.secure",message="None needs Secure (RFC 6265bis)",fieldPath=".sameSite",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.partitioned) || !self.partitioned || !has(self.secure) || self.secure",message="needs Secure (CHIPS)",fieldPath=".partitioned",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(self.crossSite) || !self.crossSite || !has(self.secure) || self.secure",message="needs Secure (CHIPS)",fieldPath=".crossSite",reason=FieldValueInvalid
type Cookie struct {
	// LifetimeType says whether the cookie outlives the browser session: a Session cookie has neither Expires nor
	// Max-Age, a Permanent one has both, and needs an absolute timeout as well. Where no policy writes it: Session.
	// +kubebuilder:validation:Enum=Session;Permanent
	// +optional
	LifetimeType *policyconfig.LifetimeType `json:"lifetimeType,omitempty"`

	// Path attribute; the empty string leaves it out. Where no policy writes it, the generation of the rule
	// decides (S23).
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(/[!-:<-~]*)?$`
	// +optional
	Path *string `json:"path,omitempty"`

	// Domain attribute. Where no policy writes it: a host-only cookie.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`
	// +optional
	Domain *string `json:"domain,omitempty"`

	// SameSite attribute; None needs Secure. Where no policy writes it: Strict.
	// +kubebuilder:validation:Enum=Strict;Lax;None
	// +optional
	SameSite *policyconfig.SameSite `json:"sameSite,omitempty"`

	// Secure attribute. Where no policy writes it: true.
	// +optional
	Secure *bool `json:"secure,omitempty"`

	// HTTPOnly attribute. Where no policy writes it: true.
	// +optional
	HTTPOnly *bool `json:"httpOnly,omitempty"`

	// Partitioned attribute (CHIPS); needs Secure. Where no policy writes it: false.
	// +optional
	Partitioned *bool `json:"partitioned,omitempty"`

	// CrossSite sets a second cookie, whose name ends in -cross-site, with the same token and SameSite=None; Partitioned, for pages
	// in a frame of another site; needs Secure. Where no policy writes it: false.
	// +optional
	CrossSite *bool `json:"crossSite,omitempty"`

	// Attributes are further ones, each written as Name or Name=Value; none that has a field of its own. The list
	// merges as a whole.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.lowerAscii().split('=')[0] == b.lowerAscii().split('=')[0]))",message="must not name an attribute twice, in any case"
	// +listType=atomic
	// +optional
	Attributes []CookieAttribute `json:"attributes,omitempty"`
}

// Cache says how tokens and caches get along.
type Cache struct {
	// Control is what a response that sets a token says to caches: Keep leaves its Cache-Control, Private and
	// NoStore replace it. Under Keep and Share it stays as it is; under Keep no token is issued on a response that it lets
	// shared caches store, nor on a 304. Where no policy writes it: Keep.
	// +kubebuilder:validation:Enum=Keep;Private;NoStore;Share
	// +optional
	Control *policyconfig.CacheControl `json:"control,omitempty"`

	// SkipCacheable never issues a token on a response that a shared cache may store, nor on a 304.
	// +optional
	SkipCacheable *bool `json:"skipCacheable,omitempty"`

	// UnsafeMethodsOnly issues tokens only after unsafe methods such as POST (RFC 9110, section 9.2.1).
	// +optional
	UnsafeMethodsOnly *bool `json:"unsafeMethodsOnly,omitempty"`
}

// Revocation voids sessions that began before it.
type Revocation struct {
	// Epoch is signed into tokens; tokens of another epoch are void. Where no policy writes it: 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	// +optional
	Epoch *int64 `json:"epoch,omitempty"`

	// NotBefore voids sessions that began earlier than this time.
	// +optional
	NotBefore *Time `json:"notBefore,omitempty"`

	// Sessions are single sessions that are void, each as "ID until TIME", or as "ID" for good. 'limpet revoke' writes the
	// text for a token.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Sessions []RevokedSession `json:"sessions,omitempty"`

	// Hosts are hosts some of whose sessions are void: "ADDRESS:PORT before TIME" voids those that came to the host before
	// that time.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Hosts []RevokedHost `json:"hosts,omitempty"`

	// Backends are backends some of whose sessions are void: "NAMESPACE/SERVICE:PORT before TIME" voids those that came to a host of
	// the Service's port before that time; of an XBackend it is "xbackend/NAMESPACE/NAME:PORT before TIME", of one subset of
	// Istio's "NAMESPACE/SERVICE:PORT/SUBSET before TIME". Sessions of the other backends of a split stay.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Backends []RevokedBackend `json:"backends,omitempty"`
}
