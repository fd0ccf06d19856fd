package policyconfig

import (
	"reflect"
	"strings"
	"testing"
)

func somePolicy() Policy {
	p := DefaultPolicy()
	p.Name, p.Routes, p.SessionName = "cart", []string{"r"}, "cart-session"
	return p
}

func someConfig(policies ...Policy) Config {
	c := DefaultConfig()
	c.Policies = policies
	return c
}

// What hangs on other fields may be left out of a Config, and the caller's own is not written to.
func TestMarshalFillsInDefaults(t *testing.T) {
	bare := somePolicy()
	bare.Cache = Cache{}
	header := somePolicy()
	header.Name, header.Routes, header.Type, header.SessionName = "h", []string{"h"}, TypeHeader, "x-cart"
	c := someConfig(bare, header)
	data, err := Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Policies[0].Scope != "" || c.Policies[0].Cookie != nil || c.Policies[0].Cache.Control != "" {
		t.Errorf("the caller's policy became %+v", c.Policies[0])
	}
	back, errs := Parse(string(data))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := someConfig(bare, header)
	want.complete()
	if !reflect.DeepEqual(back, want) {
		t.Errorf("got  %+v\nwant %+v", back, want)
	}
	if p := back.Policies[0]; p.Scope != "cart" || !reflect.DeepEqual(*p.Cookie, DefaultCookie()) || p.Cache.Control != CacheControlKeep || back.Policies[1].Cookie != nil {
		t.Errorf("got %+v", back.Policies)
	}
}

func TestMarshalWithoutPolicies(t *testing.T) {
	for _, c := range []Config{someConfig(), DefaultConfig()} {
		if data, err := Marshal(c); err != nil || !strings.HasSuffix(string(data), "\"policies\": []\n}\n") {
			t.Errorf("got %s, %v", data, err)
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		`version: Unsupported value: "": supported values: "limpet.dev/v1"`: func(c *Config) { c.Version = "" },
		`pinHeader: Invalid value: "": must not be empty`:                   func(c *Config) { c.PinHeader = "" },
		`policies[0].sessionName: Invalid value: "": must not be empty`:     func(c *Config) { c.Policies[0].SessionName = "" },
		`policies[0].type: Unsupported value: "": supported`:                func(c *Config) { c.Policies[0].Type = "" },
		`policies[0].routes: Invalid value: null: must be an array`:         func(c *Config) { c.Policies[0].Routes = nil },
		`must be 0s to 87600h`:                                 func(c *Config) { c.Policies[0].IdleTimeout = MaxDuration + 1 },
		`must be an RFC 3339 time`:                             func(c *Config) { c.Policies[0].Revocation.NotBefore = -1 },
		`keys.ring.keys: Required value`:                       func(c *Config) { c.Keys = Keys{Ring: &KeyRing{}} },
		`keys.ring: Forbidden: may not be set beside fromEnv`:  func(c *Config) { c.Keys.Ring = secretConfig().Keys.Ring },
		`keys.ring.keys[0].secret: Invalid value: [secret]`:    func(c *Config) { c.Keys = Keys{Ring: &KeyRing{Keys: []Key{{ID: "a", Secret: Secret("short")}}}} },
		`it holds an empty list that is not nil, or text that`: func(c *Config) { c.Policies[0].Clusters = []string{} },
		`or text that is not valid UTF-8`:                      func(c *Config) { c.Policies[0].Routes = []string{"caf\xe9"} },
	} {
		c := someConfig(somePolicy())
		change(&c)
		data, err := Marshal(c)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s, %v; want %s", data, err, want)
		} else if other := Validate(c); other == nil || other.Error() != err.Error() {
			t.Errorf("Validate says %v, Marshal %v", other, err)
		}
	}
	if data, err := MarshalKeyRing(KeyRing{}); err == nil || err.Error() != "keys: Required value: must have at least 1 item" {
		t.Errorf("got %s, %v", data, err)
	}
}

// Marshal leaves the characters alone that json.Marshal escapes for HTML: people read and diff the file.
func TestMarshalIsReadable(t *testing.T) {
	p := somePolicy()
	p.Routes = []string{"<a & b>"}
	if data, err := Marshal(someConfig(p)); err != nil || !strings.Contains(string(data), `"<a & b>"`) {
		t.Errorf("got %s, %v", data, err)
	}
}
