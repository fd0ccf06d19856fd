package xds

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/limpet-proxy/limpet/internal/callers"
)

// adsStream is a connection of an Envoy.
type adsStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

// StreamAggregatedResources is the protocol's older half, which gives everything of a type with each change.
func (s *Server) StreamAggregatedResources(
	discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer,
) error {
	return status.Error(codes.Unimplemented, "limpet serves delta ADS only: set api_type: DELTA_GRPC")
}

// stream is a connection with its client.
type stream struct {
	server    *Server
	client    *client
	to        adsStream
	caller    *callers.Caller
	host      string // that it comes from; empty for one at a socket
	inbox     inbox
	namespace string // of its Gateway
	// outgoing are messages that have not been sent, and owed the sizes of large ones that the Envoy has yet to answer, by
	// their nonces: until it has taken them they are kept for it.
	outgoing []*discoveryv3.DeltaDiscoveryResponse
	owed     map[string]int
	// goes says that its connection is ended, so that others have room. It is the budget's.
	goes   bool
	status atomic.Pointer[ClientStatus]
}

// inbox has what is new of a Gateway, until a stream looks at it.
type inbox struct {
	wake    chan struct{} // has room for one
	lock    sync.Mutex
	latest  *Snapshot // nil for nothing new
	changed nameSets
}

func (i *inbox) put(latest *Snapshot, changed nameSets) {
	i.lock.Lock()
	defer i.lock.Unlock()
	i.latest = latest
	i.changed.addAll(changed)
	i.notify()
}

// notify has the stream look for what it can send.
func (i *inbox) notify() {
	select {
	case i.wake <- struct{}{}:
	default: // it has yet to look
	}
}

func (i *inbox) take() (latest *Snapshot, changed nameSets) {
	i.lock.Lock()
	defer i.lock.Unlock()
	latest, changed = i.latest, i.changed
	i.latest, i.changed = nil, nameSets{}
	return latest, changed
}

// DeltaAggregatedResources serves one Envoy until it goes.
func (s *Server) DeltaAggregatedResources(to adsStream) error {
	from, _ := peer.FromContext(to.Context())
	caller := callers.Find(from.Addr)
	defer caller.Forget()
	namespace, identify, err := s.options.Authenticate(to.Context(), from)
	if err != nil {
		return s.refuse(from, err)
	}
	most := mostMessage(s.largestNamed(namespace))
	caller.Expect(namespace, most)
	requests := make(chan received)
	go receive(to, requests)
	var first *discoveryv3.DeltaDiscoveryRequest
	select {
	case r := <-requests:
		if first, err = r.request, r.err; err != nil {
			return err
		}
	case <-caller.Over():
		return s.refuse(from, s.excess("message", "a message has more than %d bytes, or takes too long", most))
	}
	who, err := identify(first.GetNode())
	if err != nil {
		return s.refuse(from, err)
	}
	one, err := s.newStream(to, from, who, first.GetNode())
	if err != nil {
		return err
	}
	if err := s.join(who.Gateway, one); err != nil {
		return s.refuse(from, err)
	}
	caller.Identified()
	s.options.Log.Connected(*one.status.Load())
	err = one.serve(first, requests)
	s.leave(who.Gateway, one)
	s.acknowledged()
	s.options.Log.Disconnected(*one.status.Load(), err)
	return err
}

// newStream makes a stream of a node that is known.
func (s *Server) newStream(to adsStream, from *peer.Peer, who Identity, node *corev3.Node) (*stream, error) {
	now := time.Now()
	one := &stream{
		server: s, to: to, caller: callers.Find(from.Addr), owed: map[string]int{},
		inbox: inbox{wake: make(chan struct{}, 1)},
	}
	one.host, _, _ = net.SplitHostPort(from.Addr.String())
	one.namespace, _, _ = strings.Cut(who.Gateway, "/")
	one.client = newClient(s.options.Deadline, one, now)
	if ready := s.options.Ready; ready != nil {
		listener, err := ready(node)
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		one.client.ready = listener
	}
	one.status.Store(&ClientStatus{
		Warning: s.options.judgeNode(node),
		Gateway: who.Gateway, Node: shorten(node.GetId()), Identity: who.Name, Address: from.Addr.String(),
		Version: formatVersion(node), Connected: now.Round(0), Stage: stageBegin.String(),
	})
	return one, nil
}

// judgeNode says what is wrong with an Envoy.
func (o *Options) judgeNode(node *corev3.Node) string {
	if o.Judge == nil {
		return ""
	}
	var extensions []string
	for _, e := range node.GetExtensions() {
		extensions = append(extensions, e.GetName())
	}
	return o.Judge(formatVersion(node), extensions)
}

// received is what came from an Envoy.
type received struct {
	request *discoveryv3.DeltaDiscoveryRequest
	err     error
}

// serve takes requests, snapshots and time as they come, and sends what the client says.
func (one *stream) serve(first *discoveryv3.DeltaDiscoveryRequest, requests <-chan received) error {
	check := time.NewTicker(max(one.server.options.Deadline/4, 10*time.Millisecond))
	defer check.Stop()
	end := one.server.options.endOf(time.Now())
	if err := one.take(first); err != nil {
		return err
	}
	for {
		if err := one.sendNext(); err != nil {
			return err
		}
		select {
		case <-one.to.Context().Done():
			return one.to.Context().Err()
		case r := <-requests:
			if r.err == nil {
				r.err = one.take(r.request)
			}
			if r.err != nil {
				return notEnd(r.err)
			}
		case <-one.caller.Over():
			return one.server.excess("message", "a message has more than %d bytes, or takes too long",
				mostMessage(one.server.namedOf(one.gateway())))
		case <-one.inbox.wake:
		case <-one.checkAgain():
		case now := <-check.C:
			if !end.IsZero() && now.After(end) && !one.client.isWaiting() {
				return status.Error(codes.Unavailable, "the connection has reached its age: reconnect")
			}
		}
	}
}

// notEnd is an error, unless it is the end of what an Envoy sends.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// endOf is when a connection ends that begins now; zero is never. Connections that began together do not end so.
func (o *Options) endOf(now time.Time) time.Time {
	if o.ConnectionAge == 0 {
		return time.Time{}
	}
	part := 0.8 + 0.4*rand.Float64() //nolint:gosec // it need not be secret
	return now.Add(time.Duration(part * float64(o.ConnectionAge)))
}

// take takes a request, unless what the Envoy says that it has and wants is too much then: for one of its Gateway, or
// with all others of its namespace.
func (one *stream) take(request *discoveryv3.DeltaDiscoveryRequest) error {
	one.client.take(request, time.Now())
	delete(one.owed, request.GetResponseNonce())
	named, requested := one.server.namedOf(one.gateway()), one.client.requested
	one.caller.Take(mostMessage(named))
	if most := 2*named + moreThanServed; requested > most {
		return one.server.excess("names",
			"what is asked for comes to more than %d bytes, twice what there is for Gateway %s and %d",
			most, one.gateway(), moreThanServed)
	}
	if !one.reckon(one.cost()) {
		return one.excess()
	}
	return nil
}

// gateway is the key of the Gateway whose resources it gets.
func (one *stream) gateway() string { return one.status.Load().Gateway }

// receive hands requests over until the connection ends.
func receive(from adsStream, to chan<- received) {
	for {
		request, err := from.Recv()
		select {
		case to <- received{request, err}:
		case <-from.Context().Done():
			return
		}
		if err != nil {
			return
		}
	}
}
