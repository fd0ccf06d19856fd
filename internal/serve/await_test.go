package serve

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/rollout"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// podDocuments has a pod at an address.
const podDocuments = documents + `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: search-1, namespace: default, labels: {kubernetes.io/service-name: search}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.1.1], targetRef: {kind: Pod, name: s, uid: first}}]
`

// dial has the server listen, and connects to it.
func dial(t testing.TB, o *Output) (connection *grpc.ClientConn, disconnect func()) {
	t.Helper()
	rpc := grpc.NewServer()
	o.Server.Register(rpc)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = rpc.Serve(listener) }()
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
func connectSilent(t *testing.T, o *Output, gateway string) {
	t.Helper()
	connection, disconnect := dial(t, o)
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
	for end := time.Now().Add(10 * time.Second); len(o.Server.Clients()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not connect")
		}
	}
}

// TestAddressThatWaitsHoldsUpNothing: while an Envoy does not answer, an address that has passed to another pod is no endpoint,
// and a change that comes meanwhile is not held up by that.
//
// requirements: S42
func TestAddressThatWaitsHoldsUpNothing(t *testing.T) {
	o, keys := newOutput(t)
	o.Server = xds.NewServer(xds.Options{Deadline: time.Minute, Identify: xds.IdentifyByCertificate("limpet"), Log: Log{To: slog.New(slog.DiscardHandler)}})
	inner := o.Options
	o.Options = func(in livereload.Inputs) compiler.Options {
		of := inner(in)
		of.TokenVersion = 2
		return of
	}
	text := withCertificate(t, podDocuments)
	apply(t, o, keys, text)
	connectSilent(t, o, "default/one")
	begun, asked := time.Now(), 0
	o.Waiting = func() bool { asked++; return true }
	result, err := o.Compile(livereload.Inputs{Keys: keys, Sources: []compiler.Source{
		{Name: "a.yaml", Data: []byte(strings.Replace(text, "uid: first", "uid: second", 1))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Apply(t.Context(), begun, result)
	var late *rollout.Unconfirmed
	if took := time.Since(begun); !errors.As(err, &late) || took > 3*time.Second || asked != 1 {
		t.Errorf("it took %v, and another change was looked for %d times: %v", took, asked, err)
	}
	two := o.Server.Latest("default/two")
	if len(two.Resources(xds.Endpoint)) != 1 || strings.Contains(two.Resources(xds.Endpoint)[0].Body.String(), "10.0.1.1") {
		t.Errorf("the address is an endpoint, or there are no endpoints: %v", two.Resources(xds.Endpoint))
	}
}
