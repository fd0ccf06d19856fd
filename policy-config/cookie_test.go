package policyconfig

import "testing"

func TestCookieRulesFor(t *testing.T) {
	for name, want := range map[string]CookieRules{
		"cart":                {},
		"__Secure":            {},
		"a__Host-":            {},
		"__Secure-cart":       {Secure: true},
		"__host-cart":         {Secure: true, HostOnly: true},
		"__HTTP-cart":         {Secure: true, HTTPOnly: true},
		"__Host-Http-cart":    {Secure: true, HTTPOnly: true, HostOnly: true},
		"__Secure-__Host-any": {Secure: true},
	} {
		if got := CookieRulesFor(name); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}
