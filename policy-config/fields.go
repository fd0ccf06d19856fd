package policyconfig

import (
	"errors"
	"strconv"

	"github.com/tidwall/gjson"
)

// The decoder tables: every field of every type, by its name in JSON.

var errSecretLength = errors.New("must be " + strconv.Itoa(MinSecret) + " to " + strconv.Itoa(MaxSecret) + " bytes")

var configFields = []field[Config]{
	{name: "version", required: true, set: enum(versions, func(c *Config) *string { return &c.Version })},
	{name: "keys", set: hiding(nested(keysFields, func(c *Config) *Keys { return &c.Keys }))},
	{name: "pinHeader", set: textSetter(&pinRule, func(c *Config) *string { return &c.PinHeader })},
	{name: "clockSkew", set: duration(skewRange, func(c *Config) *Duration { return &c.ClockSkew })},
	{name: "accessLog", set: boolean(func(c *Config) *bool { return &c.AccessLog })},
	{name: "policies", required: true, set: objects(policyCount, policyFields, DefaultPolicy,
		func(c *Config) *[]Policy { return &c.Policies })},
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
}

var ringFields = []field[KeyRing]{
	{name: "keys", required: true, set: objects(keyCount, keyFields, func() Key { return Key{} }, func(r *KeyRing) *[]Key { return &r.Keys })},
}

var keyFields = []field[Key]{
	{name: "id", required: true, set: textSetter(&keyIDRule, func(k *Key) *string { return &k.ID })},
	{name: "secret", required: true, set: secret(func(k *Key) *Secret { return &k.Secret })},
	{name: "notBefore", set: moment(func(k *Key) *Time { return &k.NotBefore })},
	{name: "notAfter", set: moment(func(k *Key) *Time { return &k.NotAfter })},
}

var policyFields = []field[Policy]{
	{name: "name", required: true, set: textSetter(&nameRule, func(p *Policy) *string { return &p.Name })},
	{name: "scope", set: textSetter(&scopeRule, func(p *Policy) *string { return &p.Scope })},
	{name: "routes", required: true, set: texts(routeCount, &envoyRule, itself, func(p *Policy) *[]string { return &p.Routes })},
	{name: "clusters", set: texts(routeCount, &envoyRule, itself, func(p *Policy) *[]string { return &p.Clusters })},
	{name: "type", set: enum(types, func(p *Policy) *Type { return &p.Type })},
	{name: "sessionName", required: true, set: textSetter(&sessionRule, func(p *Policy) *string { return &p.SessionName })},
	{name: "absoluteTimeout", set: duration(timeoutRange, func(p *Policy) *Duration { return &p.AbsoluteTimeout })},
	{name: "idleTimeout", set: duration(timeoutRange, func(p *Policy) *Duration { return &p.IdleTimeout })},
	{name: "renewAfterPercent", set: whole(renewRange, func(p *Policy) *int { return &p.RenewAfterPercent })},
	{name: "cookie", set: nested(cookieFields, func(p *Policy) *Cookie {
		cookie := DefaultCookie()
		p.Cookie = &cookie
		return p.Cookie
	})},
	{name: "revealHost", set: boolean(func(p *Policy) *bool { return &p.RevealHost })},
	{name: "forward", set: boolean(func(p *Policy) *bool { return &p.Forward })},
	{name: "onHostLost", set: enum(lostChoices, func(p *Policy) *OnHostLost { return &p.OnHostLost })},
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
	{name: "attributes", set: texts(attributeCount, &attributeRule, attributeName, func(c *Cookie) *[]string { return &c.Attributes })},
}

var cacheFields = []field[Cache]{
	{name: "control", set: enum(cacheControls, func(c *Cache) *CacheControl { return &c.Control })},
	{name: "skipCacheable", set: boolean(func(c *Cache) *bool { return &c.SkipCacheable })},
	{name: "unsafeMethodsOnly", set: boolean(func(c *Cache) *bool { return &c.UnsafeMethodsOnly })},
}

var revocationFields = []field[Revocation]{
	{name: "epoch", set: whole(epochRange, func(r *Revocation) *uint32 { return &r.Epoch })},
	{name: "notBefore", set: moment(func(r *Revocation) *Time { return &r.NotBefore })},
}
