package xds

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// events is a log for tests.
type events struct {
	lock sync.Mutex
	all  []string
}

func (e *events) add(event string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.all = append(e.all, event)
}

func (e *events) has(event string) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, known := range e.all {
		if strings.HasPrefix(known, event) {
			return true
		}
	}
	return false
}

func (e *events) Connected(c ClientStatus) { e.add("connected " + c.Node) }

func (e *events) Disconnected(c ClientStatus, _ error) { e.add("disconnected " + c.Node) }

func (e *events) Refused(_ string, why error) { e.add("refused " + why.Error()) }

func (e *events) Rejected(c ClientStatus, r Rejection) { e.add("rejected " + r.Name + " " + r.Words) }

func (e *events) Late(c ClientStatus) { e.add("late " + c.Node) }

func (e *events) Live(c ClientStatus, _ time.Duration) { e.add("live " + c.Node + " " + c.Generation) }

// startServer starts a server, and gives what connects to it.
func startServer(t *testing.T, o Options) (*Server, *events, func(node, cluster string) *session) {
	t.Helper()
	log := &events{}
	o.Log, o.Authenticate = log, AuthenticateByCertificate("limpet")
	s := NewServer(o)
	rpc := grpc.NewServer(grpc.MaxRecvMsgSize(32<<20), grpc.InitialWindowSize(1<<16))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(rpc, listener) }()
	t.Cleanup(rpc.Stop)
	return s, log, func(node, cluster string) *session {
		connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		one := &session{t: t, stream: stream, target: listener.Addr().String()}
		one.send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: node, Cluster: cluster}, TypeUrl: Cluster.URL()})
		return one
	}
}

// session is a client's connection.
type session struct {
	t      *testing.T
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	target string // the server's address
}

func (s *session) send(request *discoveryv3.DeltaDiscoveryRequest) {
	s.t.Helper()
	if err := s.stream.Send(request); err != nil {
		s.t.Fatal(err)
	}
}

// receive gives the names of what comes, and acknowledges it.
func (s *session) receive() (names string, err error) {
	message, err := s.stream.Recv()
	if err != nil {
		return "", err
	}
	for _, r := range message.GetResources() {
		names += r.GetName() + " "
	}
	s.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: message.GetTypeUrl(), ResponseNonce: message.GetNonce()})
	return names, nil
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}
