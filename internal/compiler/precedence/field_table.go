package precedence

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The fields that are named outside the table, too.
const (
	fieldDisabled  = "disabled"
	fieldType      = "type"
	fieldName      = "sessionName"
	fieldAbsolute  = "absoluteTimeout"
	fieldIdle      = "idleTimeout"
	fieldDrain     = "drainTimeout"
	fieldKeep      = "keepUnselected"
	fieldIdentity  = "identity"
	fieldPath      = "cookie.path"
	fieldEndHeader = "endSessionHeader"
	fieldEnvelope  = "envelope"
	fieldRevoked   = "revocation.backends"
)

type (
	cookieSettings     = v1alpha1.Cookie
	cacheSettings      = v1alpha1.Cache
	revocationSettings = v1alpha1.Revocation
	pluginCookie       = policyconfig.Cookie
)

func cacheOf(s *sessionSettings) *cacheSettings           { return s.Cache }
func revocationOf(s *sessionSettings) *revocationSettings { return s.Revocation }

// fieldTable is every field, in the order in which people read them.
var fieldTable = []fieldRow{
	convertedField(fieldDisabled, func(s *sessionSettings) *bool { return s.Disabled }, keepValue[bool], nil),
	typeField(),
	nameField(),
	timeoutField(fieldAbsolute, func(s *sessionSettings) (*v1alpha1.Duration, *int64) {
		return s.AbsoluteTimeout, s.AbsoluteTimeoutSeconds
	}, func(p *pluginPolicy) *policyconfig.Duration { return &p.AbsoluteTimeout }),
	timeoutField(
		fieldIdle,
		func(s *sessionSettings) (*v1alpha1.Duration, *int64) { return s.IdleTimeout, s.IdleTimeoutSeconds },
		func(p *pluginPolicy) *policyconfig.Duration { return &p.IdleTimeout },
	),
	convertedField(
		"renewAfterPercent",
		func(s *sessionSettings) *int32 { return s.RenewAfterPercent },
		convertInt,
		func(p *pluginPolicy) *int { return &p.RenewAfterPercent },
	),
	convertedField(fieldDrain, func(s *sessionSettings) *v1alpha1.Duration { return s.DrainTimeout }, parseDuration, nil),
	convertedField(fieldKeep, func(s *sessionSettings) *v1alpha1.Duration { return s.KeepUnselected }, parseDuration, nil),
	cookieField(
		"lifetimeType",
		func(c *cookieSettings) *policyconfig.LifetimeType { return c.LifetimeType },
		keepValue,
		func(c *pluginCookie) *policyconfig.LifetimeType { return &c.LifetimeType },
	).nameInRelease16("cookieConfig.lifetimeType"),
	cookieField(
		"path",
		func(c *cookieSettings) *string { return c.Path },
		keepValue,
		func(c *pluginCookie) *string { return &c.Path },
	).computeLater(),
	cookieField(
		"domain",
		func(c *cookieSettings) *string { return c.Domain },
		keepValue,
		func(c *pluginCookie) *string { return &c.Domain },
	),
	cookieField(
		"sameSite",
		func(c *cookieSettings) *policyconfig.SameSite { return c.SameSite },
		keepValue,
		func(c *pluginCookie) *policyconfig.SameSite { return &c.SameSite },
	),
	cookieField(
		"secure",
		func(c *cookieSettings) *bool { return c.Secure },
		keepValue,
		func(c *pluginCookie) *bool { return &c.Secure },
	),
	cookieField(
		"httpOnly",
		func(c *cookieSettings) *bool { return c.HTTPOnly },
		keepValue,
		func(c *pluginCookie) *bool { return &c.HTTPOnly },
	),
	cookieField(
		"partitioned",
		func(c *cookieSettings) *bool { return c.Partitioned },
		keepValue,
		func(c *pluginCookie) *bool { return &c.Partitioned },
	),
	cookieField(
		"crossSite",
		func(c *cookieSettings) *bool { return c.CrossSite },
		keepValue,
		func(c *pluginCookie) *bool { return &c.CrossSite },
	),
	cookieField("attributes", func(c *cookieSettings) *[]v1alpha1.CookieAttribute { return listOf(&c.Attributes) },
		convertStrings[v1alpha1.CookieAttribute], func(c *pluginCookie) *[]string { return &c.Attributes }),
	convertedField(
		fieldIdentity,
		func(s *sessionSettings) *v1alpha1.Identity { return s.Identity },
		keepValue[v1alpha1.Identity],
		nil,
	),
	plainField(
		"onHostLost",
		func(s *sessionSettings) *policyconfig.OnHostLost { return s.OnHostLost },
		func(p *pluginPolicy) *policyconfig.OnHostLost { return &p.OnHostLost },
	),
	convertedField(
		"failStatus",
		func(s *sessionSettings) *int32 { return s.FailStatus },
		convertInt,
		func(p *pluginPolicy) *int { return &p.FailStatus },
	),
	convertedField(
		fieldEndHeader,
		func(s *sessionSettings) *v1alpha1.HeaderName { return s.EndSessionHeader },
		convertString,
		func(p *pluginPolicy) *string { return &p.EndSessionHeader },
	),
	plainField(
		"issueOn",
		func(s *sessionSettings) *policyconfig.IssueOn { return s.IssueOn },
		func(p *pluginPolicy) *policyconfig.IssueOn { return &p.IssueOn },
	),
	plainField(
		"cache.control",
		readMember(cacheOf, func(c *cacheSettings) *policyconfig.CacheControl { return c.Control }),
		func(p *pluginPolicy) *policyconfig.CacheControl { return &p.Cache.Control },
	),
	plainField(
		"cache.skipCacheable",
		readMember(cacheOf, func(c *cacheSettings) *bool { return c.SkipCacheable }),
		func(p *pluginPolicy) *bool { return &p.Cache.SkipCacheable },
	),
	plainField(
		"cache.unsafeMethodsOnly",
		readMember(cacheOf, func(c *cacheSettings) *bool { return c.UnsafeMethodsOnly }),
		func(p *pluginPolicy) *bool { return &p.Cache.UnsafeMethodsOnly },
	),
	convertedField(
		"revocation.epoch",
		readMember(revocationOf, func(r *revocationSettings) *int64 { return r.Epoch }),
		convertEpoch,
		func(p *pluginPolicy) *uint32 { return &p.Revocation.Epoch },
	),
	convertedField(
		"revocation.notBefore",
		readMember(revocationOf, func(r *revocationSettings) *v1alpha1.Time { return r.NotBefore }),
		parseTime,
		func(p *pluginPolicy) *policyconfig.Time { return &p.Revocation.NotBefore },
	),
	convertedField(
		"revocation.sessions",
		readMember(revocationOf, func(r *revocationSettings) *[]v1alpha1.RevokedSession { return listOf(&r.Sessions) }),
		convertStrings[v1alpha1.RevokedSession],
		func(p *pluginPolicy) *[]string { return &p.Revocation.Sessions },
	),
	convertedField(
		"revocation.hosts",
		readMember(revocationOf, func(r *revocationSettings) *[]v1alpha1.RevokedHost { return listOf(&r.Hosts) }),
		convertStrings[v1alpha1.RevokedHost],
		func(p *pluginPolicy) *[]string { return &p.Revocation.Hosts },
	),
	convertedField(
		fieldRevoked,
		readMember(revocationOf, func(r *revocationSettings) *[]v1alpha1.RevokedBackend { return listOf(&r.Backends) }),
		convertRevokedBackends,
		nil,
	),
	plainField(
		"revealHost",
		func(s *sessionSettings) *bool { return s.RevealHost },
		func(p *pluginPolicy) *bool { return &p.RevealHost },
	),
	plainField(
		fieldEnvelope,
		func(s *sessionSettings) *bool { return s.Envelope },
		func(p *pluginPolicy) *bool { return &p.Envelope },
	),
	plainField(
		"forward",
		func(s *sessionSettings) *bool { return s.Forward },
		func(p *pluginPolicy) *bool { return &p.Forward },
	),
}

// fieldIndex gives each field's index in the table by its name.
var fieldIndex = buildFieldIndex()

func buildFieldIndex() map[string]int {
	index := make(map[string]int, len(fieldTable))
	for i := range fieldTable {
		index[fieldTable[i].name] = i
	}
	return index
}

func (f fieldRow) nameInRelease16(path string) fieldRow {
	f.inlineNames = map[sessionapi.APIRelease]string{sessionapi.Release16: path}
	return f
}

func (f fieldRow) computeLater() fieldRow {
	f.computedLater = true
	return f
}

// typeHTTPCookie is the word for a cookie that GEP-1619 had first.
const typeHTTPCookie policyconfig.Type = "HTTPCookie"

// typeField is what carries the token. Inline, a Cookie is written by cookieConfig or cookie being there, and a
// Header of 1.7 by header (S8).
func typeField() fieldRow {
	f := plainField(
		fieldType,
		func(s *sessionSettings) *policyconfig.Type { return s.Type },
		func(p *pluginPolicy) *policyconfig.Type { return &p.Type },
	)
	value := f.read
	f.read = func(s *sessionSettings, g sessionapi.APIRelease) (any, string, error) {
		v, _, err := value(s, g)
		if v == typeHTTPCookie {
			v = policyconfig.TypeCookie
		}
		switch {
		case v == policyconfig.TypeCookie && g == sessionapi.Release16:
			return v, "cookieConfig", err
		case v == policyconfig.TypeCookie && g == sessionapi.Release17:
			return v, "cookie", err
		case g == sessionapi.Release17 && s.Header != nil:
			return v, "header", err
		}
		return v, "", err
	}
	return f
}

// nameField is the session's name, in all its forms (S7).
func nameField() fieldRow {
	f := convertedField(
		fieldName,
		func(s *sessionSettings) *v1alpha1.SessionName { return s.SessionName },
		convertString,
		func(p *pluginPolicy) *string { return &p.SessionName },
	)
	f.inlineNames = map[sessionapi.APIRelease]string{sessionapi.Release17: "cookie.name"}
	f.computedLater = true
	value := f.read
	f.read = func(s *sessionSettings, g sessionapi.APIRelease) (any, string, error) {
		if s.Header != nil {
			return string(s.Header.Name), "header.name", nil
		}
		return value(s, g)
	}
	return f
}

// timeoutField is a duration that may also be written in seconds, and is more than none.
func timeoutField(
	name string,
	from func(*sessionSettings) (*v1alpha1.Duration, *int64),
	to func(*pluginPolicy) *policyconfig.Duration,
) fieldRow {
	f := convertedField(
		name,
		func(s *sessionSettings) *v1alpha1.Duration { d, _ := from(s); return d },
		parsePositiveDuration,
		to,
	)
	inSeconds := convertedField(name, func(s *sessionSettings) *int64 { _, n := from(s); return n }, convertSeconds, to)
	inText := f.read
	f.read = func(s *sessionSettings, g sessionapi.APIRelease) (any, string, error) {
		if value, _, err := inSeconds.read(s, g); value != nil {
			return value, name + "Seconds", err
		}
		return inText(s, g)
	}
	return f
}
