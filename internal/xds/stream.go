package xds

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// adsStream is a connection of an Envoy.
type adsStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

// Register lets a gRPC server answer Envoys.
func (s *Server) Register(to *grpc.Server) {
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(to, s)
}

// StreamAggregatedResources is the protocol's older half, which gives everything of a type with each change.
func (s *Server) StreamAggregatedResources(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, "limpet serves delta ADS only: set api_type: DELTA_GRPC")
}

// stream is a connection with its client.
type stream struct {
	server *Server
	client *client
	to     adsStream
	host   string // that it comes from
	inbox  inbox
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
	ctx, err := s.options.Authenticate(to.Context(), from)
	if err != nil {
		return s.refuse(from, err)
	}
	first, err := to.Recv()
	if err != nil {
		return err
	}
	who, err := s.options.Identify(ctx, from, first.GetNode())
	if err != nil {
		return s.refuse(from, err)
	}
	now := time.Now()
	one := &stream{server: s, to: to, host: hostOf(from), inbox: inbox{wake: make(chan struct{}, 1)}}
	one.client = newClient(s.options.Deadline, one, now)
	if ready := s.options.Ready; ready != nil {
		one.client.ready, err = ready(first.GetNode())
	}
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	one.status.Store(&ClientStatus{
		Warning: s.options.judge(first.GetNode()),
		Gateway: who.Gateway, Node: shorten(first.GetNode().GetId()), Identity: who.Name, Address: from.Addr.String(),
		Version: formatVersion(first.GetNode()), Connected: now.Round(0), Stage: stageBegin.String(),
	})
	if !s.join(who.Gateway, one) {
		return s.refuse(from, status.Errorf(codes.ResourceExhausted, "Gateway %s has %d connections from this address",
			who.Gateway, s.options.MostStreams))
	}
	s.options.Log.Connected(*one.status.Load())
	s.options.Metrics.streams.Inc()
	err = one.serve(first)
	s.leave(who.Gateway, one)
	s.acknowledged()
	s.options.Metrics.streams.Dec()
	s.options.Log.Disconnected(*one.status.Load(), err)
	return err
}

func hostOf(from *peer.Peer) string {
	host, _, err := net.SplitHostPort(from.Addr.String())
	if err != nil {
		return from.Addr.String()
	}
	return host
}

// refuse is the answer to a peer that gets nothing. Whoever may reach the server can be refused as often as it likes: all are counted, and
// few are told of.
func (s *Server) refuse(from *peer.Peer, why error) error {
	if s.refusals.Allow() {
		s.options.Log.Refused(from.Addr.String(), errors.New(shorten(why.Error())))
	}
	s.options.Metrics.refused.Inc()
	if _, has := status.FromError(why); has {
		return why
	}
	return status.Error(codes.PermissionDenied, shorten(why.Error()))
}

// judge says what is wrong with an Envoy.
func (o *Options) judge(node *corev3.Node) string {
	if o.Judge == nil {
		return ""
	}
	var extensions []string
	for _, e := range node.GetExtensions() {
		extensions = append(extensions, e.GetName())
	}
	return o.Judge(formatVersion(node), extensions)
}

func formatVersion(node *corev3.Node) string {
	if v := node.GetUserAgentBuildVersion().GetVersion(); v != nil {
		return fmt.Sprintf("%d.%d.%d", v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
	}
	return ""
}

// received is what came from an Envoy.
type received struct {
	request *discoveryv3.DeltaDiscoveryRequest
	err     error
}

// serve takes requests, snapshots and time as they come, and sends what the client says.
func (one *stream) serve(first *discoveryv3.DeltaDiscoveryRequest) error {
	requests := make(chan received)
	go one.receive(requests)
	look := time.NewTicker(max(one.server.options.Deadline/4, 10*time.Millisecond))
	defer look.Stop()
	end := one.server.options.endOf(time.Now())
	one.client.take(first, time.Now())
	for {
		if err := one.sendNext(); err != nil {
			return err
		}
		select {
		case <-one.to.Context().Done():
			return one.to.Context().Err()
		case r := <-requests:
			if errors.Is(r.err, io.EOF) {
				return nil
			}
			if r.err != nil {
				return r.err
			}
			if one.client.take(r.request, time.Now()); one.client.tellsTooMuch() {
				return status.Errorf(codes.ResourceExhausted, "what is asked for comes to more than %d MiB", maxTold>>20)
			}
		case <-one.inbox.wake:
		case now := <-look.C:
			if !end.IsZero() && now.After(end) && !one.client.isWaiting() {
				return status.Error(codes.Unavailable, "the connection has come of age: come again")
			}
		}
	}
}

// endOf is when a connection ends that begins now; zero is never. Connections that began together do not end so.
func (o *Options) endOf(now time.Time) time.Time {
	if o.ConnectionAge == 0 {
		return time.Time{}
	}
	part := 0.8 + 0.4*rand.Float64() //nolint:gosec // it need not be secret
	return now.Add(time.Duration(part * float64(o.ConnectionAge)))
}

// receive hands requests over until the connection ends.
func (one *stream) receive(to chan<- received) {
	for {
		request, err := one.to.Recv()
		select {
		case to <- received{request, err}:
		case <-one.to.Context().Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// sendNext sends all that can be sent now, and says what is new of the client.
func (one *stream) sendNext() error {
	if latest, changed := one.inbox.take(); latest != nil {
		one.client.see(latest, changed)
	}
	now := time.Now()
	for _, message := range one.client.next(now) {
		if err := one.to.Send(message); err != nil {
			return err
		}
		one.countPush(message)
	}
	one.publish(now)
	return nil
}

// publish makes the status that others see, and reports what changed in it.
func (one *stream) publish(now time.Time) {
	c, before := one.client, one.status.Load()
	next := *before
	if c.target != nil {
		next.Target = c.target.Generation
	}
	next.routed = c.routed
	if c.target != nil && c.hasAll(Listener) && !c.hasRejected(Listener) {
		next.listeners = c.target.listeners
	}
	next.Stage, next.Late, next.Rejected = c.reached.String(), c.describeLate(now), c.listRejected()
	live := c.live != nil && c.live == c.target && len(next.Rejected) == 0
	if live {
		next.Generation = c.live.Generation
	}
	if c.target != nil && c.isFree(c.begun) { // and not because of the time
		next.Done = c.target.number
	}
	if next.Late != "" && before.Late == "" {
		one.server.options.Log.Late(next)
		one.server.options.Metrics.late.Inc()
	}
	one.status.Store(&next)
	if next.listeners != before.listeners {
		one.server.acknowledged()
	}
	if next.Done != before.Done || live && next.Generation != before.Generation {
		one.server.options.Log.Live(next, now.Sub(c.seen()))
	}
}

// seen is when the client could have begun with its target.
func (c *client) seen() time.Time {
	if c.target.Since.Before(c.connected) {
		return c.connected
	}
	return c.target.Since
}

// describeLate says which pushes are not answered in time.
func (c *client) describeLate(now time.Time) string {
	for t := range typeCount {
		if p := c.types[t].pending; p != nil && now.Sub(p.sent) > c.deadline {
			return fmt.Sprintf("no answer to %s for %v", t, now.Sub(p.sent).Round(time.Second))
		}
	}
	if c.target != nil && c.live != c.target && now.Sub(c.begun) > c.deadline && len(c.listRejected()) == 0 {
		return "does not ask for all of its configuration"
	}
	return ""
}

// listRejected lists what the Envoy has not taken of its target.
func (c *client) listRejected() (all []Rejection) {
	for t := range typeCount {
		for _, name := range slices.Sorted(maps.Keys(c.types[t].rejected)) {
			all = append(all, c.types[t].rejected[name])
		}
	}
	return all
}

func (one *stream) staged(s stage, since time.Time, took time.Duration) {
	one.server.options.Metrics.stages.WithLabelValues(s.String()).Observe(took.Seconds())
	if tell := one.server.options.Staged; tell != nil {
		tell(*one.status.Load(), s.String(), since, took)
	}
}

func (one *stream) countPush(message *discoveryv3.DeltaDiscoveryResponse) {
	t, _ := findType(message.GetTypeUrl())
	m := one.server.options.Metrics
	m.pushes.WithLabelValues(t.String()).Inc()
	m.resources.WithLabelValues(t.String(), "sent").Add(float64(len(message.GetResources())))
	m.resources.WithLabelValues(t.String(), "removed").Add(float64(len(message.GetRemovedResources())))
}

func (one *stream) rejected(t Type, names []string, words string) {
	one.server.options.Metrics.rejections.WithLabelValues(t.String()).Inc()
	status := one.status.Load()
	isSaid := func(r Rejection) bool { return r.Type == t.String() && r.Name == names[0] && r.Words == words }
	if len(names) == 1 && !slices.ContainsFunc(status.Rejected, isSaid) {
		one.server.options.Log.Rejected(*status, Rejection{Type: t.String(), Name: names[0], Words: words})
	}
}
