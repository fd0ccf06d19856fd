package serve

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"github.com/limpet-proxy/limpet/internal/xds"
)

// TestConnectionAge: with its age not only a stream ends but the connection under it, so that who comes back is judged again, perhaps by
// another replica; and an answer that is due, and never comes, does not put that off.
func TestConnectionAge(t *testing.T) {
	const age, deadline, soon = 500 * time.Millisecond, 200 * time.Millisecond, 10 * time.Second
	from := make(chan string, 10)
	authenticate := func(_ context.Context, p *peer.Peer) (string, xds.Identify, error) {
		from <- p.Addr.String()
		return "", func(node *corev3.Node) (xds.Identity, error) { return xds.Identity{Gateway: node.GetCluster()}, nil }, nil
	}
	server := xds.NewServer(xds.Options{
		Deadline: deadline, ConnectionAge: age, Authenticate: authenticate, Log: Log{To: slog.New(slog.DiscardHandler)},
	})
	server.Set("default/one", xds.NewSnapshot(time.Now()).Edit(time.Now(), map[xds.Type]xds.Edit{
		xds.Cluster: {Set: []*xds.Resource{xds.NewResource(xds.Cluster, "a", nil)}},
	}))
	rpc := NewRPC(nil, age, deadline)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(rpc, listener) }()
	t.Cleanup(rpc.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	for name, answers := range map[string]bool{"an Envoy that answers": true, "one that does not": false} {
		var at [2]string
		for i := range at {
			within, stop := context.WithTimeout(t.Context(), soon)
			listen(t, within, connection, answers)
			if within.Err() != nil {
				t.Errorf("%s: its connection goes on after %v", name, soon)
			}
			stop()
			at[i] = <-from
		}
		if at[0] == at[1] {
			t.Errorf("%s: it comes back on the same connection", name)
		}
	}
}

// listen has an Envoy take what it is sent until its stream ends.
func listen(t *testing.T, ctx context.Context, on *grpc.ClientConn, answers bool) {
	t.Helper()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(on).DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	request := &discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Cluster: "default/one"}, TypeUrl: xds.Cluster.URL()}
	for {
		if err := stream.Send(request); err != nil {
			return
		}
		response, err := stream.Recv()
		if err != nil {
			return
		}
		for !answers {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
		request = &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xds.Cluster.URL(), ResponseNonce: response.GetNonce()}
	}
}
