package compiler

import (
	"fmt"
	"strings"
	"testing"
)

// TestFollowerTellsOnce: what was told of objects is not told again, whether they are followed, compiled as a whole for others that can't
// be, or followed from the beginning after that; and what is new is told in each of these.
func TestFollowerTellsOnce(t *testing.T) {
	twice := func(file string) Source {
		return Source{Name: file, Data: []byte("{apiVersion: v1, kind: Service, metadata: {name: twice}, spec: {ports: [{port: 80}]}}")}
	}
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
		fresh   string // the only routes that are told of
	}{
		{"first", []Source{web, route("a")}, true, "a"},
		{"followed", []Source{web, route("a"), route("b")}, false, "b"},
		{"a policy that is not followed", []Source{web, route("a"), route("b"), policy}, true, ""},
		{"a route with it", []Source{web, route("a"), route("b"), route("c"), policy}, true, "c"},
		{"nothing new with it", []Source{web, route("a"), route("c"), policy}, true, ""},
		{"followed again", []Source{web, route("a"), route("c"), route("d")}, true, "d"},
		{"as before", []Source{web, route("a"), route("c"), route("d"), route("e")}, false, "e"},
		{"a Service twice", []Source{web, route("a"), route("c"), route("d"), route("e"), twice("x"), twice("y")}, true, ""},
		{"with a route", []Source{web, route("a"), route("c"), route("d"), route("e"), route("f"), twice("x"), twice("y")}, true, "f"},
		{"once", []Source{web, route("a"), route("c"), route("d"), route("e"), route("f"), route("g"), twice("x")}, true, "g"},
		{"after all", []Source{web, route("a"), route("g"), route("h"), twice("x")}, false, "h"},
	}
	f := newFollower(t, Options{Envoy: &EnvoyOptions{ModulePath: "w", Dynamic: &Dynamic{Folder: "d"}}})
	for _, s := range steps {
		update, err := f.Replace(s.sources, Changes{})
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		told := ""
		for _, p := range update.NewWarnings {
			if _, name, is := strings.Cut(p.Object, "HTTPRoute default/"); is && !strings.HasSuffix(told, name) {
				told += name
			}
		}
		if told != s.fresh || update.Whole != s.whole {
			t.Errorf("%s: told of the routes %q, not of %q, whole=%t: %s", s.name, told, s.fresh, update.Whole, fmt.Sprint(update.NewWarnings))
		}
	}
}
