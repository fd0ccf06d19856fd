package policyconfig_test

import (
	"fmt"
	"log"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Parse fills in every default, so that a reader need not know any.
func ExampleParse() {
	config, errs := policyconfig.Parse(`{
		"version": "limpet.dev/v1",
		"policies": [{"name": "cart", "routes": ["cart"], "sessionName": "__Host-cart", "absoluteTimeout": "8h"}]
	}`)
	if len(errs) > 0 {
		log.Fatal(errs)
	}
	p := config.Policies[0]
	fmt.Println("the ring is in", config.Keys.FromEnv)
	fmt.Println(p.Type, p.SessionName, p.AbsoluteTimeout, p.OnHostLost)
	fmt.Println("Path", p.Cookie.Path, "Secure", p.Cookie.Secure, "SameSite", p.Cookie.SameSite)
	// Output:
	// the ring is in LIMPET_KEYS
	// Cookie __Host-cart 8h Rebalance
	// Path / Secure true SameSite Strict
}

// Every fault is found at once, each with its path. Nothing that is wrong is passed over.
func ExampleParse_faults() {
	_, errs := policyconfig.Parse(`{
		"version": "limpet.dev/v1",
		"policies": [
			{"name": "a", "routes": ["a"], "sessionName": "a b", "absoluteTimeout": "1.5h"},
			{"name": "b", "routes": ["b"], "sessionName": "b", "onHostLost": "Move", "colour": "red"}
		]
	}`)
	for _, err := range errs {
		fmt.Println(err.Path)
	}
	// Output:
	// policies[0].sessionName
	// policies[0].absoluteTimeout
	// policies[1].onHostLost
	// policies[1].colour
}

// A configuration that a program makes starts from the defaults; Marshal refuses what the filter would refuse.
func ExampleMarshal() {
	config, policy := policyconfig.DefaultConfig(), policyconfig.DefaultPolicy()
	policy.Name, policy.Scope, policy.Routes = "api", "api", []string{"api"}
	policy.Type, policy.SessionName, policy.Cookie = policyconfig.TypeHeader, "x-api-session", nil
	config.Policies = []policyconfig.Policy{policy}

	text, err := policyconfig.Marshal(config)
	if err != nil {
		log.Fatal(err)
	}
	_, errs := policyconfig.Parse(string(text))
	fmt.Println("accepted:", len(errs) == 0)

	config.Policies[0].SessionName = "Host"
	_, err = policyconfig.Marshal(config)
	fmt.Println(err)
	// Output:
	// accepted: true
	// policies[0].sessionName: Invalid value: "Host": must not be a header that says what the message is (RFC 9110)
}

// A ring prints without its secrets.
func ExampleParseKeyRing() {
	ring, errs := policyconfig.ParseKeyRing(`{"keys": [
		{"id": "2026-12", "secret": "bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyA", "notBefore": "2026-12-01T00:00:00Z"},
		{"id": "2026-11", "secret": "b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCA"}
	]}`)
	if len(errs) > 0 {
		log.Fatal(errs)
	}
	for _, key := range ring.Keys {
		fmt.Println(key.ID, key.Secret)
	}
	// Output:
	// 2026-12 [secret]
	// 2026-11 [secret]
}
