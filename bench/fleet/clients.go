package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/limpet-proxy/limpet/internal/xds"
)

// fleet are clients that connect again when they lose their server.
type fleet struct{ address atomic.Pointer[string] }

func newFleet(s size, address string) *fleet {
	f := &fleet{}
	f.address.Store(&address)
	for i := range s.clients {
		c := &client{fleet: f, node: &corev3.Node{Id: fmt.Sprint("c", i), Cluster: "default/g0"}}
		if s.apart {
			c.node.Cluster = fmt.Sprint("default/g", i)
		}
		go c.run()
	}
	return f
}

func (f *fleet) moveTo(address string) { f.address.Store(&address) }

// client subscribes as Envoy does: to the resources that clusters and listeners lead to.
type client struct {
	fleet *fleet
	node  *corev3.Node
	has   map[string]map[string]string // versions, by type and name
}

func (c *client) run() {
	c.has = map[string]map[string]string{}
	for _, t := range []xds.Type{xds.Cluster, xds.Endpoint, xds.Filter, xds.Routes, xds.Listener} {
		c.has[t.URL()] = map[string]string{}
	}
	for {
		address := *c.fleet.address.Load()
		if err := c.connect(address); err != nil && address == *c.fleet.address.Load() {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func (c *client) connect(address string) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).
		DeltaAggregatedResources(context.Background())
	if err != nil {
		return err
	}
	if err := c.greet(stream); err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := c.take(stream, message); err != nil {
			return err
		}
	}
}

type deltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient

// greet subscribes to clusters and listeners, and to all that the client has, as an Envoy does that reconnects.
func (c *client) greet(stream deltaStream) error {
	for _, t := range []xds.Type{xds.Cluster, xds.Endpoint, xds.Listener, xds.Routes, xds.Filter} {
		wildcard := t == xds.Cluster || t == xds.Listener
		if !wildcard && len(c.has[t.URL()]) == 0 {
			continue
		}
		request := &discoveryv3.DeltaDiscoveryRequest{
			Node:                    c.node,
			TypeUrl:                 t.URL(),
			InitialResourceVersions: maps.Clone(c.has[t.URL()]),
		}
		if !wildcard {
			request.ResourceNamesSubscribe = slices.Collect(maps.Keys(c.has[t.URL()]))
		}
		if err := stream.Send(request); err != nil {
			return err
		}
	}
	return nil
}

// take acknowledges a response, and subscribes to the resources that it leads to.
func (c *client) take(stream deltaStream, message *discoveryv3.DeltaDiscoveryResponse) error {
	url := message.GetTypeUrl()
	if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl:       url,
		ResponseNonce: message.GetNonce(),
	}); err != nil {
		return err
	}
	var added []string
	for _, r := range message.GetResources() {
		if c.has[url][r.GetName()] == "" {
			added = append(added, r.GetName())
		}
		c.has[url][r.GetName()] = r.GetVersion()
	}
	for _, name := range message.GetRemovedResources() {
		delete(c.has[url], name)
	}
	switch url {
	case xds.Cluster.URL():
		return c.subscribe(stream, xds.Endpoint, added)
	case xds.Listener.URL():
		if err := c.subscribe(stream, xds.Routes, added); err != nil {
			return err
		}
		return c.subscribe(stream, xds.Filter, []string{"limpet"})
	}
	return nil
}

func (c *client) subscribe(stream deltaStream, t xds.Type, names []string) error {
	if len(names) == 0 {
		return nil
	}
	err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: t.URL(), ResourceNamesSubscribe: names})
	if err != nil {
		fmt.Fprintln(os.Stderr, c.node.GetId(), err)
	}
	return err
}
