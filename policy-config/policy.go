package policyconfig

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
	// Scope is what tokens are bound to: a token of one scope is void in every other. Policies that are to share sessions
	// have the same scope. 1 to 512 visible ASCII characters. Default: the policy's name.
	Scope string `json:"scope"`
	// Routes are the names of the Envoy routes that the policy holds for; at least one, none twice. Required.
	Routes []string `json:"routes"`
	// Clusters restricts the policy to requests for which Envoy chose one of these clusters (GEP-1619 in Gateway API 1.7:
	// the weights choose, the session pins inside). Absent: all clusters of the routes.
	Clusters []string `json:"clusters,omitempty"`
	// Type is what carries the token (GEP-1619, SessionPersistenceType). Query is refused: no token goes into a URL.
	// Default Cookie.
	Type Type `json:"type"`
	// SessionName is the name of the cookie or header (GEP-1619): an RFC 9110 token of at most 256 characters, as a header
	// not a reserved one and not the pin header. Prefixes bind a cookie's attributes. Header names are compared without
	// regard to case. Required.
	SessionName string `json:"sessionName"`
	// AbsoluteTimeout ends a session that long after it began (GEP-1619). At most 87600h. Absent or 0s: never.
	AbsoluteTimeout Duration `json:"absoluteTimeout,omitempty"`
	// IdleTimeout ends a session that has seen no request for that long (GEP-1619 up to Gateway API 1.5). At most 87600h,
	// and at most AbsoluteTimeout. Absent or 0s: never.
	IdleTimeout Duration `json:"idleTimeout,omitempty"`
	// RenewAfterPercent is the share of IdleTimeout, 1 to 99, that must have passed since the token was written
	// before it is written again. Default 25: at most four Set-Cookie an idle period, and a session may
	// end up to a quarter of the idle timeout early, never late.
	RenewAfterPercent int `json:"renewAfterPercent"`
	// Cookie holds the cookie's attributes; only with type Cookie.
	Cookie *Cookie `json:"cookie,omitempty"`
	// RevealHost leaves the host's address readable in the token, for debugging. Default false.
	RevealHost bool `json:"revealHost,omitempty"`
	// Envelope wraps the value that the backend itself sets under SessionName: the client has value and token in one
	// signed text, the backend sees its own value and, in a cookie, chooses the attributes; cookie and forward then mean
	// nothing. Not with cookie.crossSite. Default false: limpet sets a token of its own.
	Envelope bool `json:"envelope,omitempty"`
	// Mirrored says that the routes' requests are mirrored: the cookies without the token are published for the mirrors'
	// cookie header (%FILTER_STATE(wasm.limpet_mirror:PLAIN)%). Only with type Cookie. Default false: it costs a host call
	// per request.
	Mirrored bool `json:"mirrored,omitempty"`
	// Forward passes the token on to the backend (GEP-1619: SHOULD). Where it is false the token is taken out, and all
	// other cookies stay as they are. Default true.
	Forward bool `json:"forward"`
	// OnHostLost says what becomes of a session whose host is gone, unhealthy or refuses: another host and a new token in
	// the same response (GEP-1619: SHOULD), or FailStatus. Under Rebalance an answer that no other host could give, and a
	// 503 of the host itself without Retry-After, end the session there. RebalanceWithin looks for the other host in the
	// session's own backend first; it needs more in Envoy. Default Rebalance.
	OnHostLost OnHostLost `json:"onHostLost"`
	// Owners say whose hosts are: "ADDRESS:PORT pod TAG" of an address that has passed from one pod to another, to void
	// the sessions of those before (host-reused), "ADDRESS:PORT name TAG" of a pod with a stable name, whose sessions
	// follow it. The tags are those of tokens, in 16 hexadecimal digits. At most 4096, none twice. The compiler writes
	// them.
	Owners []string `json:"owners,omitempty"`
	// Leads say which backend of a split each cluster leads to, where the routes of the split are there once more for each
	// of its backends: "CLUSTER TAGS". TAGS are the backend's and the rule's, in 16 hexadecimal digits; a pinned request
	// has those of its session's backend in the header x-limpet-pin-backend, which those routes match. A rule that shares
	// sessions with such a split has the backend's tag alone, and no header. At most 64, no cluster twice. The compiler
	// writes them.
	Leads []string `json:"leads,omitempty"`
	// FailStatus is the HTTP status answered under OnHostLost Fail: 400 to 599. Default 503.
	FailStatus int `json:"failStatus"`
	// EndSessionHeader names a response header whose presence ends the session (logout): the client's cookie is removed, a
	// session header is sent empty. Not a reserved one, the pin header or the session's; clear-site-data is a good one.
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

// The choices: balance again with a new token in the same response, first among the hosts of the session's backend or
// not, or answer FailStatus.
const (
	Rebalance       OnHostLost = "Rebalance"
	RebalanceWithin OnHostLost = "RebalanceWithin"
	Fail            OnHostLost = "Fail"
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
	// Path attribute (RFC 6265bis, section 5.6): begins with "/", visible ASCII without ";". Default "/"; the empty string
	// leaves the attribute out.
	Path string `json:"path"`
	// Domain attribute: labels of letters, digits and inner hyphens (RFC 1123, section 2.1), without a leading dot.
	// Absent: the cookie goes back to this host only.
	Domain string `json:"domain,omitempty"`
	// LifetimeType: Permanent writes Expires and Max-Age, equal to AbsoluteTimeout (GEP-1619: MUST), which it needs;
	// browsers cap them at 400 days (RFC 6265bis, section 5.5). Default Session.
	LifetimeType LifetimeType `json:"lifetimeType"`
	// Secure attribute (GEP-1619: SHOULD). Default true.
	Secure bool `json:"secure"`
	// HTTPOnly attribute (GEP-1619: SHOULD). Default true.
	HTTPOnly bool `json:"httpOnly"`
	// SameSite attribute (GEP-1619: SHOULD be Strict). Default Strict; None needs secure (RFC 6265bis, section 5.7).
	SameSite SameSite `json:"sameSite"`
	// Partitioned attribute (CHIPS); needs secure. Default false.
	Partitioned bool `json:"partitioned,omitempty"`
	// CrossSite sets a second cookie besides, whose name ends with -cross-site, with the same token and SameSite=None,
	// Secure and Partitioned, for pages that stand in a frame of another site; either is taken. Needs secure. Default
	// false.
	CrossSite bool `json:"crossSite,omitempty"`
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
	// CacheControlShare leaves it as it is, and issues tokens also where it lets shared caches store the response.
	CacheControlShare CacheControl = "Share"
)

// Cache says how tokens and caches get along. The zero value changes nothing.
type Cache struct {
	// Control is put on responses that set a token. Keep: no token on a response that says that shared caches may store it
	// (public, s-maxage, max-age, Expires), nor on a 304. Share: a token there too. Neither touches Cache-Control. Private
	// and NoStore make it private, or replace it by no-store (RFC 9111, section 5.2.2). Responses that take the token away
	// get private at the least. Default Keep.
	Control CacheControl `json:"control,omitempty"`
	// SkipCacheable never issues a token on a response that a shared cache may store (RFC 9111, section 3), nor on a 304.
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
	// Sessions are single sessions that are void: "ID until TIME", or "ID" for good, at most 64. The ID is that of the
	// token, 16 hexadecimal digits; 'limpet revoke' writes the text for a token. After TIME, RFC 3339, the session has
	// ended anyway.
	Sessions []string `json:"sessions,omitempty"`
	// Hosts are hosts some of whose sessions are void: "ADDRESS:PORT before TIME" voids those that came to the host before
	// TIME, RFC 3339; of several entries for a host the latest time holds. At most 4096.
	Hosts []string `json:"hosts,omitempty"`
	// Backends are backends some of whose sessions are void, where the policy has leads: "TAG before TIME" voids those
	// that came to the backend before TIME, RFC 3339. TAG is the backend's in tokens, as in leads; sessions whose token
	// names no backend are void too. At most 64.
	Backends []string `json:"backends,omitempty"`
}

// The tables of the decoder: every field of every type, by its name in JSON.

var policyFields = []field[Policy]{
	{name: "name", required: true, set: textSetter(&nameRule, func(p *Policy) *string { return &p.Name })},
	{name: "scope", set: textSetter(&scopeRule, func(p *Policy) *string { return &p.Scope })},
	{
		name:     "routes",
		required: true,
		set:      texts(routeCount, &envoyRule, itself, func(p *Policy) *[]string { return &p.Routes }),
	},
	{name: "clusters", set: texts(routeCount, &envoyRule, itself, func(p *Policy) *[]string { return &p.Clusters })},
	{name: "type", set: enum(types, func(p *Policy) *Type { return &p.Type })},
	{
		name:     "sessionName",
		required: true,
		set:      textSetter(&sessionRule, func(p *Policy) *string { return &p.SessionName }),
	},
	{name: "absoluteTimeout", set: duration(timeoutRange, func(p *Policy) *Duration { return &p.AbsoluteTimeout })},
	{name: "idleTimeout", set: duration(timeoutRange, func(p *Policy) *Duration { return &p.IdleTimeout })},
	{name: "renewAfterPercent", set: whole(renewRange, func(p *Policy) *int { return &p.RenewAfterPercent })},
	{name: "cookie", set: nested(cookieFields, func(p *Policy) *Cookie {
		cookie := DefaultCookie()
		p.Cookie = &cookie
		return p.Cookie
	})},
	{name: "revealHost", set: boolean(func(p *Policy) *bool { return &p.RevealHost })},
	{name: "envelope", set: boolean(func(p *Policy) *bool { return &p.Envelope })},
	{name: "mirrored", set: boolean(func(p *Policy) *bool { return &p.Mirrored })},
	{name: "forward", set: boolean(func(p *Policy) *bool { return &p.Forward })},
	{name: "onHostLost", set: enum(lostChoices, func(p *Policy) *OnHostLost { return &p.OnHostLost })},
	{name: "owners", set: texts(ownerCount, &ownerRule, itself, func(p *Policy) *[]string { return &p.Owners })},
	{name: "leads", set: texts(leadCount, &leadRule, leadCluster, func(p *Policy) *[]string { return &p.Leads })},
	{name: "failStatus", set: whole(statusRange, func(p *Policy) *int { return &p.FailStatus })},
	{name: "endSessionHeader", set: textSetter(&headerRule, func(p *Policy) *string { return &p.EndSessionHeader })},
	{name: "issueOn", set: enum(issueChoices, func(p *Policy) *IssueOn { return &p.IssueOn })},
	{name: "cache", set: nested(cacheFields, func(p *Policy) *Cache { return &p.Cache })},
	{name: "revocation", set: nested(revocationFields, func(p *Policy) *Revocation { return &p.Revocation })},
}

var cookieFields = []field[Cookie]{
	{name: "path", set: textSetter(&pathRule, func(c *Cookie) *string { return &c.Path })},
	{name: "domain", set: textSetter(&domainRule, func(c *Cookie) *string { return &c.Domain })},
	{name: "lifetimeType", set: enum(lifetimes, func(c *Cookie) *LifetimeType { return &c.LifetimeType })},
	{name: "secure", set: boolean(func(c *Cookie) *bool { return &c.Secure })},
	{name: "httpOnly", set: boolean(func(c *Cookie) *bool { return &c.HTTPOnly })},
	{name: "sameSite", set: enum(sameSites, func(c *Cookie) *SameSite { return &c.SameSite })},
	{name: "partitioned", set: boolean(func(c *Cookie) *bool { return &c.Partitioned })},
	{name: "crossSite", set: boolean(func(c *Cookie) *bool { return &c.CrossSite })},
	{
		name: "attributes",
		set:  texts(attributeCount, &attributeRule, attributeName, func(c *Cookie) *[]string { return &c.Attributes }),
	},
}

var cacheFields = []field[Cache]{
	{name: "control", set: enum(cacheControls, func(c *Cache) *CacheControl { return &c.Control })},
	{name: "skipCacheable", set: boolean(func(c *Cache) *bool { return &c.SkipCacheable })},
	{name: "unsafeMethodsOnly", set: boolean(func(c *Cache) *bool { return &c.UnsafeMethodsOnly })},
}

var revocationFields = []field[Revocation]{
	{name: "epoch", set: whole(epochRange, func(r *Revocation) *uint32 { return &r.Epoch })},
	{name: "notBefore", set: timestamp(func(r *Revocation) *Time { return &r.NotBefore })},
	{
		name: "sessions",
		set:  texts(revokedCount, &revokedSessionRule, itself, func(r *Revocation) *[]string { return &r.Sessions }),
	},
	{name: "hosts", set: texts(revokedHosts, &revokedHostRule, itself, func(r *Revocation) *[]string { return &r.Hosts })},
	{
		name: "backends",
		set:  texts(revokedCount, &revokedBackendRule, itself, func(r *Revocation) *[]string { return &r.Backends }),
	},
}
