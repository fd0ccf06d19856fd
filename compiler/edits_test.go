package compiler

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// edits are changes of one object that others depend on: what was kept of those must not be taken. Each case begins as
// a golden one, with a few words replaced.
var edits = []struct {
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

// TestFollowerEdits follows each edit to and fro, where groups keep the results of steps.
func TestFollowerEdits(t *testing.T) {
	byName := map[string]golden{}
	for _, g := range loadGoldens(t) {
		byName[g.name] = g
	}
	for _, c := range edits {
		g := byName[c.golden]
		before := strings.NewReplacer(c.begin...).Replace(string(g.source.Data))
		after := strings.Replace(before, c.from, c.to, 1)
		if before == after {
			t.Fatalf("%s: nothing changes", c.name)
		}
		o := g.parseOptions(t)
		o.Envoy.Served, o.manyRoutes = &Served{Together: true}, 1
		f := newFollower(t, o)
		var served []any
		for _, text := range []string{before, after, before} {
			if err := compareFollowed(t, c.name, f, []Source{{Name: g.source.Name, Data: []byte(text)}}, o); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			served = append(served, f.last.result.Served[0])
		}
		if served[0] == served[1] {
			t.Errorf("%s: nothing depends on it", c.name)
		}
	}
}

// editSources gives the sources with one thing changed: documents go, come twice or change places, lines come and go, words
// become others.
func editSources(sources []Source, random *rand.Rand) []Source {
	sources = slices.Clone(sources)
	s := &sources[random.IntN(len(sources))]
	docs := strings.SplitAfter(string(s.Data), "---\n")
	at, other := random.IntN(len(docs)), random.IntN(len(docs))
	switch random.IntN(6) {
	case 0:
		docs = slices.Delete(docs, at, at+1)
	case 1:
		docs = slices.Insert(docs, other, docs[at])
	case 2:
		docs[at], docs[other] = docs[other], docs[at]
	case 3:
		docs[at] = "# a comment\n" + docs[at]
	case 4:
		words := [][2]string{{"/cart", "/shop"}, {"8h", "9h"}, {"10.0.0.1", "10.0.0.3"}, {"port: 80", "port: 81"}, {"kind: Service", "kind: Serve"}, {"20m", "9h"}}
		w := words[random.IntN(len(words))]
		docs[at] = strings.Replace(docs[at], w[0], w[1], 1)
	default:
		s.Name = "moved-" + s.Name
	}
	s.Data = []byte(strings.Join(docs, ""))
	return sources
}

// scribble gives a file with some of its documents gone, moved, or with another word or digit somewhere.
func scribble(s Source, random *rand.Rand) Source {
	docs := strings.SplitAfter(string(s.Data), "---\n")
	at, other := random.IntN(len(docs)), random.IntN(len(docs))
	switch random.IntN(7) {
	case 0:
		docs = slices.Delete(docs, at, at+1)
	case 1:
		docs[at], docs[other] = docs[other], docs[at]
	case 2:
		docs[at] = "# a comment\n" + docs[at]
	case 3, 4:
		words := [][2]string{
			{".com", ".org"},
			{"hostname: ", "hostname: w."},
			{"hostname: *.", "hostname: "},
			{"Fail", "Rebalance"},
			{"/cart", "/"},
			{"namespace: ", "namespace: x"},
			{"name: ", "name: x"},
			{"weight: ", "weight: 1"},
			{"true", "false"},
			{"false", "true"},
		}
		words = slices.DeleteFunc(words, func(w [2]string) bool { return !strings.Contains(docs[at], w[0]) })
		if len(words) > 0 {
			w := words[random.IntN(len(words))]
			docs[at] = strings.Replace(docs[at], w[0], w[1], 1+random.IntN(2))
		}
	default:
		digits := regexp.MustCompile(`[2-9]`).FindAllStringIndex(docs[at], -1)
		if len(digits) > 0 {
			d := digits[random.IntN(len(digits))][0]
			docs[at] = docs[at][:d] + fmt.Sprint(1+random.IntN(9)) + docs[at][d+1:]
		}
	}
	s.Data = []byte(strings.Join(docs, ""))
	return s
}
