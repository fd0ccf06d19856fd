package compiler

import (
	"fmt"
	"strings"
	"testing"
)

// TestFollowerTellsAgain: whoever edits a file that limpet refuses something of is told so each time, whatever was new before.
func TestFollowerTellsAgain(t *testing.T) {
	f := newFollower(t, Options{HoldInvalid: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}})
	web := Source{Name: "web.yaml", Data: []byte(followedGateway)}
	service := func(name, comment string) Source {
		return Source{Name: name, Data: []byte("{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}\n# " + comment)}
	}
	for i, s := range []struct {
		written []Source
		removed []string
		want    string
	}{
		{[]Source{web, service("b.yaml", "")}, nil, ""},
		{[]Source{service("a.yaml", "a copy")}, nil, "b.yaml"},
		{[]Source{service("b.yaml", "an edit")}, nil, "b.yaml"},
		{[]Source{service("a.yaml", "no fault of this one's")}, nil, ""},
		{[]Source{service("b.yaml", "another")}, []string{"a.yaml"}, ""},
	} {
		update, err := f.Apply(Changes{Set: s.written, Removed: s.removed})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range update.NewWarnings {
			got += p.File
		}
		if got != s.want {
			t.Errorf("%d: told of %q, not of %q: %v", i, got, s.want, update.NewWarnings)
		}
	}
}

// TestFollowerTellsOnce: what was told of objects is not told again, and what is new is told.
func TestFollowerTellsOnce(t *testing.T) {
	streams := Source{Name: "tcp.yaml", Data: []byte(both(gatewayWith("TCP", "9000"), "{apiVersion: projectcontour.io/v1, kind: HTTPProxy, "+
		"metadata: {name: tcp}, spec: {virtualhost: {fqdn: tcp.org, tls: {passthrough: true}}, tcpproxy: {services: [{name: none, port: 80}]}}}"))}
	policy := Source{Name: "tls.yaml", Data: []byte(backendTLSFor("none"))}
	web := Source{Name: "web.yaml", Data: []byte(followedGateway)}
	route := func(name string) Source { // to a Service that is not there
		return Source{Name: name + ".yaml", Data: []byte("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: " + name +
			"}, spec: {parentRefs: [{name: web}], hostnames: [" + name + ".org], rules: [{backendRefs: [{name: none, port: 80}]}]}}")}
	}
	steps := []struct {
		name    string
		sources []Source
		whole   bool
		marked  string // the only objects that are told of
	}{
		{"first", []Source{web, route("a")}, true, "a"},
		{"followed", []Source{web, route("a"), route("b")}, false, "b"},
		{"a policy", []Source{web, route("a"), route("b"), policy}, false, "tls"},
		{"a route with it", []Source{web, route("a"), route("b"), route("c"), policy}, false, "c"},
		{"nothing new with it", []Source{web, route("a"), route("c"), policy}, false, ""},
		{"without it", []Source{web, route("a"), route("c"), route("d")}, false, "d"},
		{"as before", []Source{web, route("a"), route("c"), route("d"), route("e")}, false, "e"},
		{"connections", []Source{web, route("a"), route("c"), route("d"), route("e"), streams}, false, "tcp"},
		{"with a route", []Source{web, route("a"), route("c"), route("d"), route("e"), route("f"), streams}, false, "f"},
		{"without", []Source{web, route("a"), route("c"), route("d"), route("e"), route("f"), route("g")}, false, "g"},
		{"after all", []Source{web, route("a"), route("g"), route("h")}, false, "h"},
		{"refused: no Gateway", []Source{route("a"), route("g"), route("h")}, false, ""},
		{"without, after that", []Source{web, route("a"), route("g"), route("h"), route("i")}, false, "i"},
	}
	f := newFollower(t, Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}})
	for _, s := range steps {
		update, err := f.Replace(s.sources, Changes{})
		if refused := strings.HasPrefix(s.name, "refused"); refused != (err != nil) {
			t.Fatalf("%s: %v", s.name, err)
		} else if refused {
			continue
		}
		reported := ""
		for _, p := range update.NewWarnings {
			if _, name, _ := strings.Cut(p.Object, " default/"); !strings.HasSuffix(reported, name) {
				reported += name
			}
		}
		if reported != s.marked || update.Whole != s.whole {
			t.Errorf("%s: told of %q, not of %q, whole=%t: %s", s.name, reported, s.marked, update.Whole, fmt.Sprint(update.NewWarnings))
		}
	}
}
