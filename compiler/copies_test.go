package compiler

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// copiesGateway takes routes of a namespace that makes its table as large as it can.
const copiesGateway = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: app}
spec: {ports: [{port: 80}]}
`

// copiesRoute is a route of some age, with what else its spec has.
func copiesRoute(name string, age int, spec string) string {
	return fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, creationTimestamp: %q}
spec: {parentRefs: [{name: web}], %s}
`, name, time.Unix(int64(age), 0).UTC().Format(time.RFC3339), spec)
}

// fallbackOf is a route for every hostname, with 64 paths of a kilobyte.
func fallbackOf(name string, age int) string {
	paths := make([]string, 64)
	for i := range paths {
		paths[i] = fmt.Sprintf("{path: {value: /%s/%d%s}}", name, i, strings.Repeat("x", 1000))
	}
	return copiesRoute(name, age, "rules: [{matches: ["+strings.Join(paths, ", ")+"], backendRefs: [{name: app, port: 80}]}]")
}

// copiesHosts finds the virtual hosts of a table: a field 2 is the domain.
var copiesHosts = regexp.MustCompile(`\x12[\x01\x11](\*|h\d{4}\.example\.org)`)

// listHostsOf lists the hosts on which a route is, in a table of routes.
func listHostsOf(table []byte, route string) (hosts []string) {
	found := copiesHosts.FindAllSubmatchIndex(table, -1)
	for i, at := range found {
		end := len(table)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		if bytes.Contains(table[at[1]:end], []byte("httproute/default/"+route+"/rule/0")) {
			hosts = append(hosts, string(table[at[2]:at[3]]))
		}
	}
	return hosts
}

// TestCopiesOfAHostileFallback: 2,000 hosts and a route of 66 kB for all of them are no table of 130 MB, whichever come first; and
// the oldest keep what they had.
//
// requirements: S86
func TestCopiesOfAHostileFallback(t *testing.T) {
	t.Parallel()
	const hosts, most = 2000, 40 << 20
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
	var old, all strings.Builder
	for i := range hosts {
		route := copiesRoute(fmt.Sprintf("host-%d", i), 100+i, fmt.Sprintf("hostnames: [h%04d.example.org], rules: [{matches: [{path: {value: /own}}], backendRefs: [{name: app, port: 80}]}]", i))
		all.WriteString(route)
		if i < 60 {
			old.WriteString(route)
		}
	}
	f, infra := newFollower(t, o), Source{Name: "infra.yaml", Data: []byte(copiesGateway)}
	follow := func(name, text string) []byte {
		sources := []Source{infra, {Name: "hosts.yaml", Data: []byte(text)}}
		if err := compareFollowed(t, name, f, sources, o); err != nil {
			t.Fatal(err)
		}
		result, err := Compile(sources, o)
		if err != nil {
			t.Fatal(err)
		}
		table := result.Served[0].Routes[0].Content
		t.Logf("%s: %d bytes, %d warnings", name, len(table), len(result.Warnings))
		if len(table) > most {
			t.Errorf("%s: a table of %d bytes", name, len(table))
		}
		return table
	}
	before := listHostsOf(follow("an old fallback, 60 hosts", fallbackOf("first", 1)+old.String()), "first")
	after := listHostsOf(follow("an old fallback, all hosts", fallbackOf("first", 1)+all.String()), "first")
	if len(before) != 61 || len(after) < len(before) || len(after) >= hosts {
		t.Errorf("of 60 hosts %d had the fallback, of %d %d", len(before), hosts, len(after))
	}
	for _, host := range before {
		if !slices.Contains(after, host) {
			t.Errorf("%s has lost its fallback", host)
		}
	}
	late := follow("a young fallback", fallbackOf("late", 9000)+fallbackOf("first", 1)+all.String())
	if got := listHostsOf(late, "late"); len(got) != 1 {
		t.Errorf("a young fallback is on %q", got)
	}
	if got := listHostsOf(late, "first"); !slices.Equal(got, after) {
		t.Errorf("a young fallback leaves the older one %d hosts, not %d", len(got), len(after))
	}
}
