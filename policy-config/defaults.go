package policyconfig

// DefaultPinHeader is the internal header's name unless a configuration gives another.
const DefaultPinHeader = "x-limpet-pin"

// DefaultConfig is a configuration without policies and every default in place.
func DefaultConfig() Config {
	return Config{
		Version:   Version,
		Keys:      Keys{FromEnv: DefaultKeysEnv},
		PinHeader: DefaultPinHeader,
		ClockSkew: minute,
		Policies:  []Policy{},
	}
}

// DefaultPolicy is a policy with every default in place. Name, routes and sessionName have none; the scope's
// default is the name, and the cookie's (with type Cookie) is DefaultCookie: Parse fills both in.
func DefaultPolicy() Policy {
	return Policy{
		Type:              TypeCookie,
		RenewAfterPercent: 25,
		Forward:           true,
		OnHostLost:        Rebalance,
		FailStatus:        503,
		IssueOn:           IssueOnAny,
		Cache:             Cache{Control: CacheControlKeep},
	}
}

// DefaultCookie has the attributes that GEP-1619 asks for: Secure, HttpOnly, SameSite=Strict and the path "/".
func DefaultCookie() Cookie {
	return Cookie{
		Path:         "/",
		LifetimeType: LifetimeSession,
		Secure:       true,
		HTTPOnly:     true,
		SameSite:     SameSiteStrict,
	}
}

// complete fills in the defaults that depend on other fields.
func (c *Config) complete() {
	if c.Keys == (Keys{}) {
		c.Keys.FromEnv = DefaultKeysEnv
	}
	for i := range c.Policies {
		c.Policies[i].complete()
	}
}

func (p *Policy) complete() {
	if p.Scope == "" {
		p.Scope = p.Name
	}
	if p.Cache.Control == "" {
		p.Cache.Control = CacheControlKeep
	}
	if p.Cookie == nil && p.Type == TypeCookie {
		cookie := DefaultCookie()
		p.Cookie = &cookie
	}
}
