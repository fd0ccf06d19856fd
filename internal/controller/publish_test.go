package controller

import (
	"crypto/elliptic"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// readGateways gives documents with two Gateways, of which one shows a certificate.
func readGateways(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/gateways.yaml")
	if err != nil {
		t.Fatal(err)
	}
	chain, key := compilertest.IssueCertificate(t, compilertest.NewKeyOnCurve(t, elliptic.P256()))
	inline := func(s []byte) string { return strings.ReplaceAll(string(s), "\n", `\n`) }
	return strings.NewReplacer("CERT", inline(chain), "KEY", inline(key)).Replace(string(text))
}

// newController makes one with a ring of keys of its own.
func newController(t testing.TB) (*Controller, policyconfig.Keys) {
	t.Helper()
	ring := keyfile.NewRing("k")
	return &Controller{
		Server: xds.NewServer(xds.Options{Deadline: time.Second}), Memory: memory.New(), Stderr: io.Discard,
		Options: func(in Input) compiler.Options {
			return compiler.Options{Keys: in.Keys, Envoy: &compiler.EnvoyOptions{ModulePath: "/limpet.wasm", Admin: compiler.NoAdmin}}
		},
	}, policyconfig.Keys{Ring: &ring}
}

// apply makes a pass of a file, and publishes it.
func apply(t *testing.T, c *Controller, keys policyconfig.Keys, text string) string {
	t.Helper()
	_, printed := takeInput(t, c, Input{Keys: keys, Sources: read.NewList(compiler.Source{Name: "a.yaml", Data: []byte(text)})})
	return printed
}

// takeInput makes a pass of an input, and publishes it.
func takeInput(t *testing.T, c *Controller, in Input) (p *pass, printed string) {
	t.Helper()
	p, err := c.compile(in)
	if err == nil {
		printed, err = c.publish(time.Now(), p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, printed
}

func names(s *xds.Snapshot, t xds.Type) string {
	var all []string
	for _, r := range s.Resources(t) {
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

// TestPublish holds that each Gateway's proxies are served what belongs to it, on ports of its own, and nothing of others;
// that what has not changed keeps its versions; and that a Gateway which goes leaves nothing behind.
func TestPublish(t *testing.T) {
	o, keys := newController(t)
	text := readGateways(t)
	if printed := apply(t, o, keys, text); !strings.HasSuffix(printed, "2 of 2 Gateways have changed") {
		t.Error(printed)
	}
	one, two := o.Server.Latest("default/one"), o.Server.Latest("default/two")
	for _, c := range []struct {
		snapshot *xds.Snapshot
		t        xds.Type
		want     string
	}{
		{one, xds.Listener, "listener/0.0.0.0/443"},
		{one, xds.Routes, "listener/0.0.0.0/443/*"},
		{one, xds.Cluster, "service/default/cart/80"},
		{one, xds.Endpoint, "service/default/cart/80"},
		{one, xds.Secret, "certificate/default/shown"},
		{one, xds.Filter, "limpet"},
		{two, xds.Listener, "listener/0.0.0.0/443"},
		{two, xds.Routes, "listener/0.0.0.0/443"},
		{two, xds.Cluster, "service/default/search/80"},
		{two, xds.Secret, ""},
	} {
		if got := names(c.snapshot, c.t); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v are %q, want %q", c.t, got, c.want)
		}
	}
	if !strings.Contains(one.Resources(xds.Routes)[0].Body().String(), "CART") {
		t.Error("the session policies of a Gateway are not in its routes")
	}
	if body := two.Resources(xds.Routes)[0].Body().String(); strings.Contains(body, "CART") {
		t.Error("a Gateway's proxies get another's session policies")
	}
	printed := apply(t, o, keys, strings.Replace(text, "sessionName: CART", "sessionName: BASKET", 1))
	if !strings.HasSuffix(printed, "1 of 2 Gateways have changed") || o.Server.Latest("default/two") != two {
		t.Error(printed)
	}
	if next := o.Server.Latest("default/one"); next.Resources(xds.Listener)[0].Version != one.Resources(xds.Listener)[0].Version {
		t.Error("another policy is another listener")
	}
	apply(t, o, keys, strings.Replace(text, "name: two, namespace: default", "name: three, namespace: default", 1))
	if left := names(o.Server.Latest("default/two"), xds.Listener); left != "" {
		t.Errorf("a Gateway that is gone leaves %q", left)
	}
}

// TestHoldersOfServe: a session keeps its name when an older route comes to want it, for as long as limpet serves.
//
// requirements: S28, S75
func TestHoldersOfServe(t *testing.T) {
	const thief = "\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n" +
		"metadata: {name: thief, namespace: default, creationTimestamp: \"1990-01-01T00:00:00Z\"}\n" +
		"spec: {parentRefs: [{name: one}], rules: [{matches: [{headers: [{name: x, value: v}]}], backendRefs: [{name: search, port: 80}], " +
		"sessionPersistence: {sessionName: CART}}]}\n"
	for name, before := range map[string]bool{"the older route first": false, "the older route later": true} {
		o, keys := newController(t)
		text := readGateways(t)
		if before {
			apply(t, o, keys, text)
		}
		apply(t, o, keys, text+thief)
		body := o.Server.Latest("default/one").Resources(xds.Routes)[0].Body().String()
		if kept := strings.Contains(body, `cart/matches/75ff6852f9ba93fd\",\"sessionName\":\"CART\"`); kept != before {
			t.Errorf("%s: the session keeps its name: %t\n%s", name, kept, body)
		}
	}
}

// TestPoliciesTravel holds that another route's session policies are another route table, and leave the filter as it is.
func TestPoliciesTravel(t *testing.T) {
	o, keys := newController(t)
	text := readGateways(t)
	var filters, routes []string
	for _, name := range []string{"cart", "basket"} {
		apply(t, o, keys, strings.Replace(text, "kind: HTTPRoute\nmetadata: {name: cart", "kind: HTTPRoute\nmetadata: {name: "+name, 1))
		served := o.Server.Latest("default/one")
		filters = append(filters, served.Resources(xds.Filter)[0].Version)
		versions := ""
		for _, r := range served.Resources(xds.Routes) {
			versions += r.Version
		}
		routes = append(routes, versions)
	}
	if filters[0] != filters[1] || routes[0] == routes[1] {
		t.Errorf("the filter has the versions %q, and the routes %q", filters, routes)
	}
}

// TestPortsBeforeACompilation: where a Gateway listens is not known before the first compilation, and no Service is made of guesses.
func TestPortsBeforeACompilation(t *testing.T) {
	o, keys := newController(t)
	if _, known := o.Ports("default/one"); known {
		t.Error("ports are known before anything is compiled")
	}
	apply(t, o, keys, readGateways(t))
	if ports, known := o.Ports("default/one"); !known || len(ports) == 0 {
		t.Errorf("ports are %v, known=%t", ports, known)
	}
	if ports, known := o.Ports("default/other"); !known || len(ports) > 0 {
		t.Errorf("ports of a Gateway that there is not are %v, known=%t", ports, known)
	}
}

// TestOneSnapshotForAChange: what proxies are served after a change is made of what they were served before, and not from nothing too.
func TestOneSnapshotForAChange(t *testing.T) {
	c, keys := newController(t)
	text := readGateways(t) + podDocuments
	apply(t, c, keys, text)
	before := xds.LastNumber()
	apply(t, c, keys, strings.Replace(text, "10.0.1.1", "10.0.1.2", 1))
	if made := xds.LastNumber() - before; made != 1 {
		t.Errorf("%d snapshots are made", made)
	}
}
