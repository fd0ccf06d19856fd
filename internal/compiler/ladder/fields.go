package ladder

import (
	"errors"
	"slices"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/policy-config"
)

// The fields that more than the table speaks of.
const (
	fieldDisabled  = "disabled"
	fieldType      = "type"
	fieldName      = "sessionName"
	fieldAbsolute  = "absoluteTimeout"
	fieldIdle      = "idleTimeout"
	fieldDrain     = "drainTimeout"
	fieldPath      = "cookie.path"
	fieldEndHeader = "endSessionHeader"
)

type (
	cookie     = v1alpha1.Cookie
	cache      = v1alpha1.Cache
	revocation = v1alpha1.Revocation
	toCookie   = policyconfig.Cookie
)

func cacheOf(s *settings) *cache           { return s.Cache }
func revocationOf(s *settings) *revocation { return s.Revocation }

// table is every field, in the order in which people read them.
var table = []row{
	converted(fieldDisabled, func(s *settings) *bool { return s.Disabled }, same[bool], nil),
	typeField(),
	nameField(),
	timeout(fieldAbsolute, func(s *settings) (*v1alpha1.Duration, *int64) { return s.AbsoluteTimeout, s.AbsoluteTimeoutSeconds }, func(p *policy) *policyconfig.Duration { return &p.AbsoluteTimeout }),
	timeout(fieldIdle, func(s *settings) (*v1alpha1.Duration, *int64) { return s.IdleTimeout, s.IdleTimeoutSeconds }, func(p *policy) *policyconfig.Duration { return &p.IdleTimeout }),
	converted("renewAfterPercent", func(s *settings) *int32 { return s.RenewAfterPercent }, whole, func(p *policy) *int { return &p.RenewAfterPercent }),
	converted(fieldDrain, func(s *settings) *v1alpha1.Duration { return s.DrainTimeout }, duration, nil),
	cookieField("lifetimeType", func(c *cookie) *policyconfig.LifetimeType { return c.LifetimeType }, same, func(c *toCookie) *policyconfig.LifetimeType { return &c.LifetimeType }).in16("cookieConfig.lifetimeType"),
	cookieField("path", func(c *cookie) *string { return c.Path }, same, func(c *toCookie) *string { return &c.Path }).computedByCaller(),
	cookieField("domain", func(c *cookie) *string { return c.Domain }, same, func(c *toCookie) *string { return &c.Domain }),
	cookieField("sameSite", func(c *cookie) *policyconfig.SameSite { return c.SameSite }, same, func(c *toCookie) *policyconfig.SameSite { return &c.SameSite }),
	cookieField("secure", func(c *cookie) *bool { return c.Secure }, same, func(c *toCookie) *bool { return &c.Secure }),
	cookieField("httpOnly", func(c *cookie) *bool { return c.HTTPOnly }, same, func(c *toCookie) *bool { return &c.HTTPOnly }),
	cookieField("partitioned", func(c *cookie) *bool { return c.Partitioned }, same, func(c *toCookie) *bool { return &c.Partitioned }),
	cookieField("attributes", attributes, texts, func(c *toCookie) *[]string { return &c.Attributes }),
	plain("onHostLost", func(s *settings) *policyconfig.OnHostLost { return s.OnHostLost }, func(p *policy) *policyconfig.OnHostLost { return &p.OnHostLost }),
	converted("failStatus", func(s *settings) *int32 { return s.FailStatus }, whole, func(p *policy) *int { return &p.FailStatus }),
	converted(fieldEndHeader, func(s *settings) *v1alpha1.HeaderName { return s.EndSessionHeader }, asString, func(p *policy) *string { return &p.EndSessionHeader }),
	plain("issueOn", func(s *settings) *policyconfig.IssueOn { return s.IssueOn }, func(p *policy) *policyconfig.IssueOn { return &p.IssueOn }),
	plain("cache.control", within(cacheOf, func(c *cache) *policyconfig.CacheControl { return c.Control }), func(p *policy) *policyconfig.CacheControl { return &p.Cache.Control }),
	plain("cache.skipCacheable", within(cacheOf, func(c *cache) *bool { return c.SkipCacheable }), func(p *policy) *bool { return &p.Cache.SkipCacheable }),
	plain("cache.unsafeMethodsOnly", within(cacheOf, func(c *cache) *bool { return c.UnsafeMethodsOnly }), func(p *policy) *bool { return &p.Cache.UnsafeMethodsOnly }),
	converted("revocation.epoch", within(revocationOf, func(r *revocation) *int64 { return r.Epoch }), epoch, func(p *policy) *uint32 { return &p.Revocation.Epoch }),
	converted("revocation.notBefore", within(revocationOf, func(r *revocation) *v1alpha1.Time { return r.NotBefore }), moment, func(p *policy) *policyconfig.Time { return &p.Revocation.NotBefore }),
	plain("revealHost", func(s *settings) *bool { return s.RevealHost }, func(p *policy) *bool { return &p.RevealHost }),
	plain("forward", func(s *settings) *bool { return s.Forward }, func(p *policy) *bool { return &p.Forward }),
}

// indexOf gives each field's index in the table by its name.
var indexOf = indexTable()

func indexTable() map[string]int {
	index := make(map[string]int, len(table))
	for i := range table {
		index[table[i].name] = i
	}
	return index
}

func (f row) in16(path string) row {
	f.inline = map[Generation]string{Gen16: path}
	return f
}

func (f row) computedByCaller() row {
	f.computed = true
	return f
}

// typeField is what carries the token. Inline, a Cookie is written by cookieConfig or cookie being there, and a
// Header of 1.7 by header (S8).
func typeField() row {
	f := plain(fieldType, func(s *settings) *policyconfig.Type { return s.Type }, func(p *policy) *policyconfig.Type { return &p.Type })
	value := f.read
	f.read = func(s *settings, g Generation) (any, string, error) {
		v, _, err := value(s, g)
		switch {
		case v == policyconfig.TypeCookie && g == Gen16:
			return v, "cookieConfig", err
		case v == policyconfig.TypeCookie && g == Gen17:
			return v, "cookie", err
		case g == Gen17 && s.Header != nil:
			return v, "header", err
		}
		return v, "", err
	}
	return f
}

// nameField is the session's name, in every way to write it (S7).
func nameField() row {
	f := converted(fieldName, func(s *settings) *v1alpha1.SessionName { return s.SessionName }, asString, func(p *policy) *string { return &p.SessionName })
	f.inline = map[Generation]string{Gen17: "cookie.name"}
	f.computed = true
	value := f.read
	f.read = func(s *settings, g Generation) (any, string, error) {
		if s.Header != nil {
			return string(s.Header.Name), "header.name", nil
		}
		return value(s, g)
	}
	return f
}

// timeout is a duration that may also be written in seconds, and is more than none.
func timeout(name string, from func(*settings) (*v1alpha1.Duration, *int64), to func(*policy) *policyconfig.Duration) row {
	f := converted(name, func(s *settings) *v1alpha1.Duration { d, _ := from(s); return d }, limit, to)
	inSeconds := converted(name, func(s *settings) *int64 { _, n := from(s); return n }, seconds, to)
	inText := f.read
	f.read = func(s *settings, g Generation) (any, string, error) {
		if value, _, err := inSeconds.read(s, g); value != nil {
			return value, name + "Seconds", err
		}
		return inText(s, g)
	}
	return f
}

func attributes(c *cookie) *[]v1alpha1.CookieAttribute {
	if len(c.Attributes) == 0 {
		return nil
	}
	return &c.Attributes
}

var (
	errNoTime = errors.New("must be longer than 0s; leave it out for none")
	errEpoch  = errors.New("must be 0 to 4294967295")
)

func same[T any](v T) (T, error)                        { return v, nil }
func whole(n int32) (int, error)                        { return int(n), nil }
func asString[S ~string](v S) (string, error)           { return string(v), nil }
func moment(t v1alpha1.Time) (policyconfig.Time, error) { return policyconfig.ParseTime(string(t)) }

func duration(d v1alpha1.Duration) (policyconfig.Duration, error) {
	return policyconfig.ParseDuration(string(d))
}

func limit(d v1alpha1.Duration) (policyconfig.Duration, error) {
	value, err := duration(d)
	if err == nil && value == 0 {
		err = errNoTime
	}
	return value, err
}

func seconds(n int64) (policyconfig.Duration, error) {
	switch {
	case n <= 0:
		return 0, errNoTime
	case n > int64(policyconfig.MaxDuration):
		return 0, errors.New("must be at most " + policyconfig.MaxDuration.String() + " in seconds")
	}
	return policyconfig.Duration(n), nil
}

func epoch(n int64) (uint32, error) {
	if n < 0 || n > 1<<32-1 {
		return 0, errEpoch
	}
	return uint32(n), nil
}

func texts(list []v1alpha1.CookieAttribute) ([]string, error) {
	all := make([]string, 0, len(list))
	for _, a := range list {
		all = append(all, string(a))
	}
	return slices.Clip(all), nil
}
