package compiler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
)

// selectionWords are a Service whose slice has two pods, and the words that an edit makes of them.
const (
	bothSelected = "endpoints: [{addresses: [10.0.6.1], targetRef: {kind: Pod, uid: a}}, {addresses: [10.0.6.2], targetRef: {kind: Pod, uid: b}}]"
	oneSelected  = "endpoints: [{addresses: [10.0.6.2], targetRef: {kind: Pod, uid: b}}]"
	podA         = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: a}\n" +
		"status: {phase: Running, podIP: 10.0.6.1, conditions: [{type: Ready, status: \"True\"}]}\n"
)

// readSelectionDocument gives the drain document with the policy of drainTimeout, with some of the Service's pods, and both of them.
func readSelectionDocument(t *testing.T, keep, selected string) []Source {
	t.Helper()
	text := readDrainDocument(t, [2]string{"drainTimeout: 10m", keep}, [2]string{
		"endpoints: [{addresses: [10.0.6.1], conditions: {ready: false, serving: true, terminating: true}}, {addresses: [10.0.6.2]}]", selected,
	})[0].Data
	podB := strings.NewReplacer("a,", "b,", "uid: a", "uid: b", "6.1", "6.2").Replace(podA)
	return []Source{
		{Name: "a.yaml", Data: []byte(podA)},
		{Name: "b.yaml", Data: []byte(podB)},
		{Name: drainDocument, Data: text},
	}
}

// TestUnselected compiles what a policy makes of a pod that its Service no longer selects, at different times, and says where nothing
// watches pods.
//
// requirements: 2A.29, S42
func TestUnselected(t *testing.T) {
	for _, c := range []struct {
		name, keep string
		want       string
		until      time.Duration
	}{
		{"not long enough", "keepUnselected: 6m", "service/default/leaving/80/keep-6m: 10.0.6.1* 10.0.6.2", time.Minute},
		{"long enough", "keepUnselected: 5m", "service/default/leaving/80/keep-5m: 10.0.6.2", 0},
		{"off", "keepUnselected: 0s", "service/default/leaving/80: 10.0.6.2", 0},
		{"without the field", "forward: false", "service/default/leaving/80: 10.0.6.2", 0},
		{"with a drain limit, which is for others", "drainTimeout: 0s\n  keepUnselected: 6m", "service/default/leaving/80/drain-0s/keep-6m: 10.0.6.1* 10.0.6.2", time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Envoy: &EnvoyOptions{ModulePath: "limpet.wasm", Served: &Served{}}}
			var result *Result
			for i, selected := range []string{bothSelected, oneSelected, oneSelected} {
				o.Time = drainNow.Add(5 * time.Minute * time.Duration(i-2))
				var err error
				if result, err = Compile(readSelectionDocument(t, c.keep, selected), o); err != nil {
					t.Fatal(err)
				}
				o.Envoy.Served.Selection = result.Selection
			}
			if got := servedHosts(t, result, "service/default/leaving/"); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if got := result.Until; c.until == 0 != got.IsZero() || c.until > 0 && !got.Equal(drainNow.Add(c.until)) {
				t.Errorf("until %v, want %v from %v", got, c.until, drainNow)
			}
			plain, err := Compile(readSelectionDocument(t, c.keep, oneSelected), Options{Time: drainNow, Envoy: &EnvoyOptions{ModulePath: "limpet.wasm"}})
			if err != nil || strings.Contains(string(plain.Main()), "10.0.6.1") {
				t.Errorf("%v; where nothing watches it is there", err)
			}
			warned := slices.ContainsFunc(plain.Warnings, func(p Problem) bool {
				return p.Path == "spec.keepUnselected" && strings.HasPrefix(p.Message, "not supported: nothing here watches pods")
			})
			if warned != strings.Contains(c.want, "/keep-") {
				t.Errorf("reported: %v, %v", warned, plain.Warnings)
			}
		})
	}
}

// servedHosts gives the hosts of clusters with a prefix, those that drain with a star.
func servedHosts(t *testing.T, result *Result, prefix string) string {
	t.Helper()
	var clusters []string
	for packed := range result.Served[0].Endpoints.All() {
		assignment := &endpointv3.ClusterLoadAssignment{}
		if err := proto.Unmarshal(packed.Content, assignment); err != nil {
			t.Fatal(err)
		}
		text := packed.Name + ":"
		for _, locality := range assignment.GetEndpoints() {
			for _, e := range locality.GetLbEndpoints() {
				text += " " + e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
				if e.GetHealthStatus() == corev3.HealthStatus_DRAINING {
					text += "*"
				}
			}
		}
		if strings.HasPrefix(packed.Name, prefix) {
			clusters = append(clusters, text)
		}
	}
	return strings.Join(clusters, "; ")
}

// TestFollowerSelection has pods come, go and be relabelled at random, with policies that keep them and without: what is followed is what
// a compilation of all makes of the same memory.
//
// requirements: S42
func TestFollowerSelection(t *testing.T) {
	random := rand.New(rand.NewPCG(42, 1))
	o := Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "limpet.wasm", Served: &Served{}}}
	f := newFollower(t, o)
	left := 0
	for round := range 400 {
		o.Time = time.Unix(int64(1000+60*round), 0)
		keep := []string{"keepUnselected: 6m", "keepUnselected: 10m", "keepUnselected: 6m", "forward: false"}[random.IntN(4)*random.IntN(2)]
		sources := readSelectionDocument(t, keep, []string{bothSelected, oneSelected}[random.IntN(2)])
		for i := range sources {
			sources[i].Data = []byte(strings.ReplaceAll(string(sources[i].Data), "10.0.6.1", "127.0.0.6"))
		}
		port := []int{81, 81, 81, 8080}[random.IntN(4)] // where the pods are, if they are on Envoy's machine
		sources = append(sources, Source{Name: "z.yaml", Data: fmt.Appendf(nil, "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n"+
			"metadata: {name: other, namespace: infra}\nspec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: %d}]}\n", port)})
		if random.IntN(4) == 0 {
			sources = sources[1+random.IntN(2):] // without one pod, or both
		}
		if err := compareFollowed(t, fmt.Sprintf("round %d", round), f, sources, o); err != nil || t.Failed() {
			t.Fatal(err)
		}
		known := f.last.Selection
		left += len(known.LeftBy("default/leaving"))
		if random.IntN(3) > 0 { // or a memory that lags
			o.Envoy.Served.Selection = known
		}
	}
	if left < 10 {
		t.Errorf("only %d times was a pod left", left)
	}
}
