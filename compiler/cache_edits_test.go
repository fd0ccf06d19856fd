package compiler

import (
	"fmt"
	"strings"
	"testing"
)

// cacheEdits are changes of one object that others depend on: what was kept of those must not be taken. Each case begins as
// a golden one, with a few words replaced.
var cacheEdits = []struct {
	name, golden string
	begin        []string // from, to
	from, to     string
}{
	{
		"a listener's hostname, and with it where cookies meet", "domain-collides-on-any-host",
		[]string{
			"{name: http, protocol: HTTP, port: 80,",
			"{name: one, hostname: a.example.com, protocol: HTTP, port: 80}, {name: two, hostname: b.example.com, protocol: HTTP, port: 80,",
			"parentRefs: [{name: web}]\n  hostnames: [a.example.com]", "parentRefs: [{name: web, sectionName: one}]",
			"parentRefs: [{name: web}]\n  hostnames: [b.example.com]", "parentRefs: [{name: web, sectionName: two}]",
			"cookie: {domain: example.com}", "idleTimeout: 1m",
		},
		"hostname: b.example.com", "hostname: '*.example.com'",
	},
	{
		"a Service's affinity", "client-ip-affinity-refuses-sessions", nil,
		", sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}", "",
	},
	{"a Service's protocol", "endpoints-draining", nil, "spec: {ports: [{port: 80}]}", "spec: {ports: [{port: 80, appProtocol: kubernetes.io/h2c}]}"},
	{"the policy of one Service of a split", "one-service-of-split-refused-by-option", nil, "kind: Service, name: v1}]", "kind: Service, name: v2}]"},
	{"the session of an XBackend", "release-16-inline-against-xbackend", nil, "\n  sessionPersistence: {cookie: {name: v1}}", ""},
	{"the name of an XBackend's session", "xbackend-rules-share-its-sessions", nil, "cookie: {name: ", "cookie: {name: new-"},
	{"a policy of a Gateway, so that listeners part", "one-route-on-two-gateways-has-one-scope", []string{"absoluteTimeout: 2h", "absoluteTimeout: 1h"}, "absoluteTimeout: 1h", "absoluteTimeout: 3h"},
	{"what listeners of two Gateways have in common", "one-route-on-two-gateways-has-one-scope", nil, "absoluteTimeout: 2h", "absoluteTimeout: 1h"},
	{"the target of a policy", "one-route-on-two-gateways-has-one-scope", nil, "kind: Gateway, name: other", "kind: Gateway, name: others"},
	{"an endpoint", "endpoints-draining", nil, "10.0.2.1]", "10.0.2.9]"},
	{"an endpoint that drains", "endpoints-draining", nil, ", conditions: {ready: false, serving: true, terminating: true}", ""},
	{"the label of an EndpointSlice", "endpoints-draining", nil, "service-name: leaving", "service-name: cart"},
}

// TestCacheEdits compiles before and after, to and fro, with one cache.
func TestCacheEdits(t *testing.T) {
	byName := map[string]golden{}
	for _, g := range loadGoldens(t) {
		byName[g.name] = g
	}
	for _, c := range cacheEdits {
		g := byName[c.golden]
		before := strings.NewReplacer(c.begin...).Replace(string(g.source.Data))
		after := strings.Replace(before, c.from, c.to, 1)
		if before == after {
			t.Fatalf("%s: nothing changes", c.name)
		}
		o, cache := g.parseOptions(t), NewCache()
		var texts []string
		for _, text := range []string{before, after, before} {
			want, err := compareCompilations(t, c.name, []Source{{Name: g.source.Name, Data: []byte(text)}}, o, cache)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			texts = append(texts, string(want.Main()))
		}
		if texts[0] == texts[1] {
			t.Errorf("%s: nothing depends on it", c.name)
		}
	}
}

// TestCacheOptions compiles one input under one set of options after the other, with one cache.
func TestCacheOptions(t *testing.T) {
	changes := []func(*Options){
		func(*Options) {},
		func(o *Options) { o.Bind = "127.0.0.2" },
		func(o *Options) { o.GatewayAPI = "1.7" },
		func(o *Options) { o.ClassPolicyNamespace = "default" },
		func(o *Options) { o.PartialSplit = PartialReject },
		func(o *Options) { o.retarget(TargetPlugin) },
		func(o *Options) { o.retarget(TargetIstio) },
		func(o *Options) { o.retarget(TargetEnvoyGateway) },
		func(o *Options) { o.AssumeAdmitted = true },
		func(o *Options) { o.Envoy.ModulePath = "other.wasm" },
		func(o *Options) { o.Envoy.Served = &Served{Together: true} },
		func(o *Options) { o.Envoy.Served = &Served{} },
		func(o *Options) { o.Envoy.Served = &Served{Remote: true} },
		func(o *Options) { o.Envoy.Served = &Served{Together: true} },
	}
	for _, g := range loadGoldens(t) {
		if !strings.HasPrefix(g.name, "policy-") {
			continue
		}
		cache := NewCache()
		for i, change := range changes {
			o := g.parseOptions(t)
			change(&o)
			_, _ = compareCompilations(t, fmt.Sprintf("%s, options %d", g.name, i), []Source{g.source}, o, cache)
		}
	}
}
