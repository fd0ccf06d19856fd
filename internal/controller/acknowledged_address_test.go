package controller

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/serve"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// podDocuments has a pod at an address.
const podDocuments = `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: search-1, namespace: default, labels: {kubernetes.io/service-name: search}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.1.1], targetRef: {kind: Pod, name: s, uid: first}}]
`

// dial has the server listen, and connects to it.
func dial(t testing.TB, c *Controller) (connection *grpc.ClientConn, disconnect func()) {
	t.Helper()
	rpc := grpc.NewServer()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Server.Serve(rpc, listener) }()
	connection, err = grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		t.Fatal(err)
	}
	return connection, func() {
		_ = connection.Close()
		rpc.Stop()
	}
}

// connectSilent connects an Envoy that asks for its configuration and answers nothing.
func connectSilent(t *testing.T, c *Controller, gateway string) (disconnect func()) {
	t.Helper()
	connection, disconnect := dial(t, c)
	t.Cleanup(disconnect)
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := &discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: "silent", Cluster: gateway}, TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
	}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); len(c.Server.Clients()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not connect")
		}
	}
	return disconnect
}

// faultyStore forgets everything, and may say that it can't remember what is urgent, or will have done so later.
type faultyStore struct {
	fails bool
	later chan func()
}

func (m *faultyStore) Read() (map[string]json.RawMessage, error) { return nil, nil }

func (m *faultyStore) Write(_ map[string]json.RawMessage, kept func()) error {
	switch {
	case kept == nil:
	case m.fails:
		return errors.New("no room")
	case m.later != nil:
		m.later <- kept
	default:
		kept()
	}
	return nil
}

func (m *faultyStore) Whole() bool { return false }

// TestUnacknowledgedAddressHoldsUpNothing: an Envoy that does not answer holds up neither a change nor the address in it that has passed to
// another pod, which is an endpoint for those who know that. Once all know, nothing is left of it.
//
// requirements: S42
func TestUnacknowledgedAddressHoldsUpNothing(t *testing.T) {
	c, keys := newController(t)
	store := &faultyStore{}
	c.Memory = memory.Load(func(*memory.Kind) memory.Store { return store }, func(string, error) {})
	c.Server = xds.NewServer(xds.Options{Deadline: time.Minute, Authenticate: xds.AuthenticateByCertificate("limpet"), Log: serve.Log{To: slog.New(slog.DiscardHandler)}})
	text := readGateways(t) + podDocuments
	apply(t, c, keys, text)
	disconnect := connectSilent(t, c, "default/one")
	search := func() *xds.Resource {
		t.Helper()
		all := c.Server.Latest("default/two").Resources(xds.Endpoint)
		if len(all) != 1 || !strings.Contains(all[0].Body().String(), "10.0.1.1") {
			t.Fatalf("the address is no endpoint: %v", all)
		}
		return all[0]
	}
	if before := search(); len(before.Moved) > 0 {
		t.Errorf("before it passes to another pod there are endpoints without it: %v", before.Moved)
	}
	compile := func(uid string) (*pass, error) {
		data := []byte(strings.Replace(text, "uid: first", "uid: "+uid, 1))
		return c.compile(Input{Keys: keys, Sources: read.NewList(compiler.Source{Name: "a.yaml", Data: data})})
	}
	move := func(uid string) *compiler.Result {
		t.Helper()
		p, err := compile(uid)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.publish(time.Now(), p); err != nil {
			t.Fatal(err)
		}
		return p.result
	}
	result := move("second")
	if moved := search(); strings.Contains(moved.Without(moved.Moved).Body().String(), "10.0.1.1") {
		t.Errorf("who does not know that it is another's gets the endpoints %v", moved.Without(moved.Moved))
	}
	if result.Until.IsZero() || time.Until(result.Until) > time.Second {
		t.Errorf("it is looked at again at %v", result.Until)
	}
	if again := move("second"); !again.Unacknowledged || !again.Until.After(result.Until) {
		t.Errorf("while an Envoy does not answer it is settled %v, and looked at again at %v", !again.Unacknowledged, again.Until)
	}
	disconnect()
	for end := time.Now().Add(2 * time.Minute); len(c.Server.Clients()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not go")
		}
	}
	store.fails = true
	if _, err := compile("third"); err == nil {
		t.Fatal("what can't be remembered is compiled")
	}
	store.fails = false
	if !move("third").Unacknowledged {
		t.Error("what was never served is taken for known")
	}
	if after := move("third"); after.Unacknowledged || !after.Until.IsZero() || c.Memory.Owners.IsPending() {
		t.Errorf("once all know it is settled %v, and looked at again at %v", !after.Unacknowledged, after.Until)
	}
}

// TestUnacknowledgedAddressesOneByOne: who knows that an address is another pod's keeps it while the next one passes to another, though an Envoy
// that does not answer knows of neither.
func TestUnacknowledgedAddressesOneByOne(t *testing.T) {
	c, keys := newController(t)
	c.Server = xds.NewServer(xds.Options{
		Deadline: time.Minute, Authenticate: xds.AuthenticateByCertificate("limpet"), Log: serve.Log{To: slog.New(slog.DiscardHandler)},
	})
	const two = "uid: a}}, {addresses: [10.0.1.2], targetRef: {kind: Pod, name: r, uid: b}}]"
	text := strings.Replace(readGateways(t)+podDocuments, "uid: first}}]", two, 1)
	apply(t, c, keys, text)
	connectSilent(t, c, "default/one")
	for _, step := range []struct{ from, to, moved string }{
		{"uid: a", "uid: c", "10.0.1.1 c"},
		{"uid: b", "uid: d", "10.0.1.1 c, 10.0.1.2 d"},
		{"uid: c", "uid: e", "10.0.1.1 e, 10.0.1.2 d"},
	} {
		text = strings.Replace(text, step.from, step.to, 1)
		apply(t, c, keys, text)
		endpoints := c.Server.Latest("default/two").Resources(xds.Endpoint)[0]
		moved := strings.ReplaceAll(strings.Join(endpoints.Moved, ", "), ":8080", "")
		if moved != step.moved {
			t.Errorf("%s: those that moved are %q; want %q", step.to, moved, step.moved)
		}
		for _, host := range []string{"10.0.1.1", "10.0.1.2"} {
			isIt := func(one string) bool { return strings.HasPrefix(one, host+":") }
			others := slices.DeleteFunc(slices.Clone(endpoints.Moved), isIt)
			if body := string(endpoints.Without(others).Body().GetValue()); !strings.Contains(body, host) {
				t.Errorf("%s: who knows of %s does not have it: %q", step.to, host, body)
			}
		}
	}
}

// TestChangesDoNotWaitForMemory: while it is being written down whose addresses are, however long that takes, others' changes go on, and
// what was seen later does not count as remembered.
func TestChangesDoNotWaitForMemory(t *testing.T) {
	c, keys := newController(t)
	store := &faultyStore{later: make(chan func(), 10)}
	c.Memory = memory.Load(func(*memory.Kind) memory.Store { return store }, func(string, error) {})
	text := readGateways(t) + podDocuments
	apply(t, c, keys, text)
	for _, uid := range []string{"second", "third"} {
		text = strings.Replace(text, "uid: "+map[string]string{"second": "first", "third": "second"}[uid], "uid: "+uid, 1)
		apply(t, c, keys, text)
		if all := c.Server.Latest("default/two").Resources(xds.Endpoint); len(all) != 1 || !slices.Equal(all[0].Moved, []string{"10.0.1.1:8080 " + uid}) {
			t.Errorf("%s: %v are served", uid, all)
		}
	}
	first, second := <-store.later, <-store.later
	if first(); c.keeping.isDone() {
		t.Error("what was seen later counts as remembered")
	}
	apply(t, c, keys, strings.Replace(text, "addresses: [10.0.1.1]", "addresses: [10.0.1.9]", 1))
	if c.keeping.isDone() {
		t.Error("a change without such addresses counts for those of before")
	}
	if second(); !c.keeping.isDone() {
		t.Error("it never counts as remembered")
	}
}
