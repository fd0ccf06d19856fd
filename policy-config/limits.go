package policyconfig

// Limits of the plugin configuration. Lengths are in characters, as JSON Schema counts them.
const (
	// MaxBytes is the size of a whole configuration.
	MaxBytes = 32 << 20
	// MaxRingBytes is the size of a key ring's own document (an environment variable or a file).
	MaxRingBytes = 64 << 10
	// MaxPolicies is the number of policies.
	MaxPolicies = 100_000
	// MaxRoutes is the number of routes of one policy, and of its clusters.
	MaxRoutes = 10_000
	// MaxName is the length of a policy's name: that of a Kubernetes object's name.
	MaxName = 253
	// MaxScope is the length of a policy's scope.
	MaxScope = 512
	// MaxEnvoyName is the length of the name of an Envoy route or cluster.
	MaxEnvoyName = 1024
	// MaxSessionName is the length of a session's name and of every header name: that of Gateway API 1.7 (CookieName,
	// HeaderName).
	MaxSessionName = 256
	// MaxCookiePath is the length of a cookie's path: that of Gateway API 1.7, and as much as a
	// browser takes of any attribute (RFC 6265bis, section 5.6).
	MaxCookiePath = 1024
	// MaxAttributes is the number of further attributes of a cookie.
	MaxAttributes = 16
	// MaxRevoked is the number of single sessions that a policy revokes, and that of backends.
	MaxRevoked = 64
	// MaxRevokedHosts is the number of hosts that a policy revokes: the compiler lists those of whole backends there.
	MaxRevokedHosts = 4096
	// MaxOwners is the number of hosts of which a policy says whose they are.
	MaxOwners = 4096
	// MaxLeads is the number of clusters of which a policy says to which backend they lead.
	MaxLeads = 64
	// MaxKeys is the number of keys in a ring.
	MaxKeys = 16
	// MinSecret is the length of a key's secret in bytes, that of an HMAC-SHA256 output (RFC 2104, section 3).
	MinSecret = 32
	// MaxSecret is the greatest length of a key's secret in bytes; HMAC-SHA256 gains nothing from more than 64.
	MaxSecret = 128
)

const (
	maxDomain    = 253 // RFC 1035, section 2.3.4, as text without the last dot
	maxAttribute = 1024
	maxRevoked   = 128
	maxLead      = MaxEnvoyName + 1 + 2*tagDigits
	maxKeyID     = 64
	maxEnv       = 128
	maxSealed    = 16 << 10
	minSealed    = 24 + 16 + 1 // bytes: nonce, tag and at least something
	sealedPrefix = "1."        // the version of sealed text
)

// wholeRange is the range of a number's field.
type wholeRange struct{ min, max int64 }

var (
	renewRange  = wholeRange{1, 99}
	statusRange = wholeRange{400, 599}
	epochRange  = wholeRange{0, 1<<32 - 1}
)

// durationRange is the range of a duration's field, from zero.
type durationRange struct{ max Duration }

var (
	timeoutRange = durationRange{MaxDuration}
	skewRange    = durationRange{hour} // clocks that differ by more need repair, not tolerance
)

// countRange is how many items a list has. A list that may be left out has at least one item when it is there.
type countRange struct{ min, max int }

var (
	policyCount    = countRange{0, MaxPolicies}
	routeCount     = countRange{1, MaxRoutes}
	attributeCount = countRange{1, MaxAttributes}
	keyCount       = countRange{1, MaxKeys}
	revokedCount   = countRange{1, MaxRevoked}
	revokedHosts   = countRange{1, MaxRevokedHosts}
	ownerCount     = countRange{1, MaxOwners}
	leadCount      = countRange{1, MaxLeads}
)

// The values of each enumeration, in the order in which messages list them.
var (
	versions      = []string{Version}
	types         = []Type{TypeCookie, TypeHeader}
	lostChoices   = []OnHostLost{Rebalance, RebalanceWithin, Fail}
	issueChoices  = []IssueOn{IssueOnAny, IssueOnTLS}
	lifetimes     = []LifetimeType{LifetimeSession, LifetimePermanent}
	sameSites     = []SameSite{SameSiteStrict, SameSiteLax, SameSiteNone}
	cacheControls = []CacheControl{CacheControlKeep, CacheControlPrivate, CacheControlNoStore, CacheControlShare}
)
