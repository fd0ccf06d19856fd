package xds

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/callers"
)

// adsStream is a connection of an Envoy.
type adsStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

// StreamAggregatedResources is the protocol's older half, which gives everything of a type with each change.
func (s *Server) StreamAggregatedResources(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, "limpet serves delta ADS only: set api_type: DELTA_GRPC")
}

// stream is a connection with its client.
type stream struct {
	server    *Server
	client    *client
	to        adsStream
	caller    *callers.Caller
	host      string // that it comes from
	inbox     inbox
	namespace string // of its Gateway
	// outgoing are messages that have not been sent, and owed the sizes of large ones that the Envoy has yet to answer, by their nonces:
	// until it has taken them they are kept for it.
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
	i.look()
}

// look has the stream look for what it can send.
func (i *inbox) look() {
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
	ctx, namespace, err := s.options.Authenticate(to.Context(), from)
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
	who, err := s.options.Identify(ctx, from, first.GetNode())
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
		server: s, to: to, caller: callers.Find(from.Addr), host: hostOf(from), inbox: inbox{wake: make(chan struct{}, 1)},
		owed: map[string]int{},
	}
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
		Warning: s.options.judge(node),
		Gateway: who.Gateway, Node: shorten(node.GetId()), Identity: who.Name, Address: from.Addr.String(),
		Version: formatVersion(node), Connected: now.Round(0), Stage: stageBegin.String(),
	})
	return one, nil
}

// excess counts what goes beyond a limit, and is what its Envoy is told.
func (s *Server) excess(what, format string, values ...any) error {
	s.options.Metrics.excess.WithLabelValues(what).Inc()
	return status.Errorf(codes.ResourceExhausted, format, values...)
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
	s.tellRefused(from.Addr.String(), why)
	s.options.Metrics.refused.Inc()
	if _, has := status.FromError(why); has {
		return why
	}
	return status.Error(codes.PermissionDenied, shorten(why.Error()))
}

func (s *Server) tellRefused(address string, why error) {
	if s.refusals.Allow() {
		s.options.Log.Refused(address, errors.New(shorten(why.Error())))
	}
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
func (one *stream) serve(first *discoveryv3.DeltaDiscoveryRequest, requests <-chan received) error {
	look := time.NewTicker(max(one.server.options.Deadline/4, 10*time.Millisecond))
	defer look.Stop()
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
		case <-one.roomAgain():
		case now := <-look.C:
			if !end.IsZero() && now.After(end) && !one.client.isWaiting() {
				return status.Error(codes.Unavailable, "the connection has come of age: come again")
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

// take takes a request, unless what the Envoy says that it has and wants is too much then: for one of its Gateway, or with all others of
// its namespace.
func (one *stream) take(request *discoveryv3.DeltaDiscoveryRequest) error {
	one.client.take(request, time.Now())
	delete(one.owed, request.GetResponseNonce())
	named, told := one.server.namedOf(one.gateway()), one.client.told()
	one.caller.Take(mostMessage(named))
	if most := 2*named + moreThanServed; told > most {
		return one.server.excess("names", "what is asked for comes to more than %d bytes, twice what there is for Gateway %s and %d",
			most, one.gateway(), moreThanServed)
	}
	if !one.reckon(one.cost()) {
		return one.excess()
	}
	return nil
}

// cost is what the stream costs, in bytes of memory.
func (one *stream) cost() int {
	cost := streamCost + one.client.told()
	for _, size := range one.owed {
		cost += size
	}
	return cost
}

// gateway is the key of the Gateway whose resources it gets.
func (one *stream) gateway() string { return one.status.Load().Gateway }

// reckon has the stream cost so much of the budget; false if there is not so much.
func (one *stream) reckon(cost int) bool {
	is, going := one.server.budget.reckon(one, cost)
	for _, other := range going {
		one.server.tellRefused(other.status.Load().Address, other.excess())
		_ = other.caller.Close() // it may wait for an Envoy that takes nothing
	}
	return is
}

// excess is what is said to a stream for which there is no room.
func (one *stream) excess() error {
	return one.server.excess("memory", "the Envoys of namespace %s come to more than there is room for", one.namespace)
}

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

// sendNext sends all that can be sent now, and says what is new of the client.
func (one *stream) sendNext() error {
	latest, changed := one.inbox.take()
	if latest != nil {
		one.client.see(latest, changed)
	}
	now, isWaiting := time.Now(), one.client.isWaiting()
	one.client.kept = one.server.kept.Load()
	if len(one.outgoing) == 0 {
		one.outgoing = one.client.next(now)
	}
	sends := false
	for ; len(one.outgoing) > 0; one.outgoing = one.outgoing[1:] {
		message := one.outgoing[0]
		if !one.owe(message) {
			break
		}
		if err := one.to.Send(message); err != nil {
			return err
		}
		one.countPush(message)
		sends = true
	}
	if latest != nil && sends && !isWaiting && latest.Since.After(one.client.connected) {
		one.server.options.Metrics.own.Observe((time.Since(latest.Since) - one.server.options.Settle).Seconds())
	}
	one.publish(now)
	return nil
}

// roomAgain tells when it is looked again whether there is room for a message that waits; never where none does.
func (one *stream) roomAgain() <-chan time.Time {
	if len(one.outgoing) == 0 {
		return nil
	}
	return time.After(100 * time.Millisecond)
}

// owe reckons a message until it is answered; false if there is no room for it now.
func (one *stream) owe(message *discoveryv3.DeltaDiscoveryResponse) bool {
	size := proto.Size(message)
	if size <= streamCost {
		return true
	}
	one.owed[message.GetNonce()] = size
	if one.reckon(one.cost()) {
		return true
	}
	delete(one.owed, message.GetNonce())
	return false
}

// publish makes the status that others see, and reports what changed in it.
func (one *stream) publish(now time.Time) {
	c, before := one.client, one.status.Load()
	next := *before
	if c.target != nil {
		next.Target = c.target.Generation
	}
	next.routed, next.listeners = c.routed, c.listListeners(before.listeners)
	next.Stage, next.Late, next.Rejected = c.reached.String(), c.describeLate(now), c.listRejected()
	next.Routes = c.describeRoutes()
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

// listListeners gives the listeners that the Envoy has acknowledged as a whole, those of before while it has only some.
func (c *client) listListeners(before string) string {
	if c.target != nil && c.hasAll(Listener) && !c.hasRejected(Listener) {
		return c.target.listeners
	}
	return before
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
		for _, name := range slices.Sorted(maps.Keys(c.types[t].searches)) {
			refused := c.types[t].searches[name].refused
			for _, host := range slices.Sorted(maps.Keys(refused)) {
				all = append(all, refused[host].Rejection)
			}
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
