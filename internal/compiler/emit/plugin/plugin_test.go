package plugin_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// emit gives the configuration of policies and keys.
func emit(policies []policyconfig.Policy, keys policyconfig.Keys) (policyconfig.Config, []byte, error) {
	return plugin.Emit(policies, plugin.Global{Keys: keys})
}

// policy is one with a cookie, for a route of its name.
func policy(name string, clusters ...string) policyconfig.Policy {
	p, cookie := policyconfig.DefaultPolicy(), policyconfig.DefaultCookie()
	p.Cookie = &cookie
	p.Name, p.Scope, p.Routes, p.Clusters = name, "scope-of-"+name, []string{"route/" + name}, clusters
	p.SessionName = "session-" + name
	return p
}

var fromEnv = policyconfig.Keys{FromEnv: "LIMPET_KEYS"}

// TestEmit holds that the text is that of the configuration, which policyconfig reads back as it was given.
func TestEmit(t *testing.T) {
	many := make([]policyconfig.Policy, 300) // more than one worker writes at a time
	for i := range many {
		many[i] = policy(fmt.Sprintf("p%03d", i))
	}
	for name, c := range map[string]struct {
		policies []policyconfig.Policy
		keys     policyconfig.Keys
	}{
		"no policy":                             {nil, fromEnv},
		"a policy":                              {[]policyconfig.Policy{policy("a")}, fromEnv},
		"policies in their order":               {[]policyconfig.Policy{policy("b"), policy("a")}, fromEnv},
		"one rule's policies, by cluster":       {[]policyconfig.Policy{policy("a", "x"), policy("b", "y", "z")}, fromEnv},
		"many":                                  {many, fromEnv},
		"a ring that another environment holds": {[]policyconfig.Policy{policy("a")}, policyconfig.Keys{FromEnv: "OTHER"}},
	} {
		t.Run(name, func(t *testing.T) {
			config, text, err := emit(c.policies, c.keys)
			if err != nil {
				t.Fatal(err)
			}
			want := policyconfig.DefaultConfig()
			want.Keys, want.Policies = c.keys, append(want.Policies, c.policies...)
			if len(config.Policies) != len(c.policies) || len(c.policies) > 0 && !reflect.DeepEqual(config.Policies, want.Policies) {
				t.Errorf("the policies are %+v\nwant %+v", config.Policies, want.Policies)
			}
			read, faults := policyconfig.Parse(string(text))
			if len(faults) > 0 {
				t.Fatalf("%v in\n%s", faults, text)
			}
			if !reflect.DeepEqual(read, config) {
				t.Errorf("the text is read as %+v\nwant %+v", read, config)
			}
			if !json.Valid(text) || read.Keys.FromEnv != c.keys.FromEnv || read.PinHeader != policyconfig.DefaultPinHeader {
				t.Errorf("got %s", text)
			}
		})
	}
}

// TestEmitFillsInDefaults gives a policy without cookie settings those of every other, and leaves the caller's as it is.
func TestEmitFillsInDefaults(t *testing.T) {
	bare := policy("a")
	bare.Cookie = nil
	config, text, err := emit([]policyconfig.Policy{bare}, fromEnv)
	if err != nil || config.Policies[0].Cookie == nil || !strings.Contains(string(text), `"sameSite"`) || bare.Cookie != nil {
		t.Errorf("got %+v, %v and\n%s", config.Policies, err, text)
	}
}

// TestEmitNamesTheFault holds that a policy that is invalid is named by its place, be it the only one or not.
func TestEmitNamesTheFault(t *testing.T) {
	broken := policy("broken")
	broken.SessionName = "a b"
	twice := policy("a")
	for name, c := range map[string]struct {
		policies []policyconfig.Policy
		want     string
	}{
		"the only one":    {[]policyconfig.Policy{broken}, "policies[0].sessionName"},
		"behind others":   {[]policyconfig.Policy{policy("a"), policy("b"), broken}, "policies[2].sessionName"},
		"one name, twice": {[]policyconfig.Policy{policy("a"), twice}, "policies[1].name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, text, err := emit(c.policies, fromEnv)
			if err == nil || !strings.Contains(err.Error(), c.want) || text != nil {
				t.Errorf("got %v and %q, want %s", err, text, c.want)
			}
		})
	}
	if _, _, err := emit([]policyconfig.Policy{policy("a")}, policyconfig.Keys{FromEnv: "a b"}); err == nil || !strings.Contains(err.Error(), "keys.fromEnv") {
		t.Errorf("a variable that is none: %v", err)
	}
}
