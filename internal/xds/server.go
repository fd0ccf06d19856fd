package xds

import (
	"cmp"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/limpet-proxy/limpet/internal/callers"
)

// Options are a server's.
type Options struct {
	// Deadline is how long an Envoy may take to answer before it is reported as late.
	Deadline time.Duration
	// ConnectionAge is after how long a connection is ended, give or take a fifth; its Envoy comes back, perhaps to
	// another replica. 0 is never.
	ConnectionAge time.Duration
	// MostStreams is how many there may be for a Gateway from one address; 0 for any number.
	MostStreams int
	// Within is how long a connection may take until it is known who it is; 0 is within.
	Within time.Duration
	// Budget is what the Envoys of all Gateways may cost together, in bytes of memory; 0 for any number.
	Budget int
	// Authenticate says who peers are, and so whose resources they get.
	Authenticate Authenticate
	// Judge, if there is one, says what is wrong with an Envoy that has connected, by what it says that it is; empty for
	// nothing.
	Judge func(version string, extensions []string) string
	// Log is told of what people should know.
	Log Log
	// Staged, if there is one, is told when an Envoy has acknowledged a stage of a change that was seen then.
	Staged func(c ClientStatus, stage string, since time.Time, took time.Duration)
	// Acknowledged, if there is one, is called when an Envoy has acknowledged its listeners, or does not hold them any
	// more. It must not wait.
	Acknowledged func()
	// Metrics may be nil.
	Metrics *Metrics
	// HasModule says that Envoys are known to have the module by which routes have shards.
	HasModule bool
	// Ready, if there is one, gives the listener that a node asks for by which it says that it is ready; nil for none.
	Ready func(*corev3.Node) (*Resource, error)
}

// Log is told what a server has to say of a client.
type Log interface {
	Connected(c ClientStatus)
	Disconnected(c ClientStatus, why error)
	// Refused is for a peer that gets nothing.
	Refused(address string, why error)
	// Rejected is for what an Envoy did not take, in its words.
	Rejected(c ClientStatus, r Rejection)
	// Late is for an Envoy that owes an answer, and Live for one that has everything of a change but for what it rejects.
	Late(c ClientStatus)
	Live(c ClientStatus, took time.Duration)
}

// Server serves the configurations of Gateways.
type Server struct {
	options  Options
	gate     *callers.Gate
	budget   budget
	refusals *rate.Limiter // that the log is told of
	// kept is the number of the last snapshot whose moved addresses Envoys may have.
	kept atomic.Uint64

	lock     sync.Mutex
	gateways map[string]*gateway
}

// refusalsLogged is how many refusals a second the log is told of, after as many at once as refusalsAtOnce.
const refusalsLogged, refusalsAtOnce = 1, 20

// gateway is what is served to the proxies of a Gateway.
type gateway struct {
	latest  *Snapshot // nil if that is not known
	streams map[*stream]bool
	// named is the most that its snapshots' names came to, as an Envoy is reckoned that has and wants them all: one that
	// was away has more than there is now.
	named int
	// loadsModule says that the last Envoy that showed it loads the module by which routes have shards. Before one has, it
	// is said of all if the module is known to be there.
	loadsModule bool
	// gone says that there is no such Gateway any more. Proxies of it that come back later are to have nothing either.
	gone bool
}

// NewServer makes a server that has nothing yet.
func NewServer(o Options) *Server {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	s := &Server{
		options: o, gateways: map[string]*gateway{}, refusals: rate.NewLimiter(refusalsLogged, refusalsAtOnce),
		budget: newBudget(o.Budget),
	}
	s.kept.Store(math.MaxUint64)
	o.Metrics.to.MustRegister(connected{s})
	s.gate = &callers.Gate{
		Most: mostUnknown, Within: cmp.Or(o.Within, within), Ended: s.endedUnknown,
		Count: func(more int) { o.Metrics.unknown.Add(float64(more)) },
	}
	return s
}

// There may be so many connections of which it is not known who they are. Each takes up to 64 kB, and is ended within
// this time, in which a token may be reviewed.
const (
	mostUnknown = 1024
	within      = 20 * time.Second
)

// Serve answers the Envoys that connect to a listener, by a gRPC server, until that is stopped.
func (s *Server) Serve(rpc *grpc.Server, l net.Listener) error {
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(rpc, s)
	return rpc.Serve(s.gate.Listen(l))
}

// endedUnknown counts a connection that was ended before it was known whose it is.
func (s *Server) endedUnknown(address string, why error) {
	reason := "late"
	if errors.Is(why, callers.ErrMany) {
		reason = "many"
	}
	s.options.Metrics.ended.WithLabelValues(reason).Inc()
	s.tellRefused(address, why)
}

// Withhold has Envoys not get addresses that have moved by a snapshot with a higher number, until it is called again.
// The rest goes on.
func (s *Server) Withhold(number uint64) {
	if s.kept.Swap(number) >= number {
		return // those who have it keep it
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, g := range s.gateways {
		for one := range g.streams {
			one.inbox.notify()
		}
	}
}

// findGateway gives a Gateway by its key, NAMESPACE/NAME, where there is something to be known of it. The server is
// locked.
func (s *Server) findGateway(key string) *gateway {
	if g := s.gateways[key]; g != nil {
		return g
	}
	return &gateway{streams: map[*stream]bool{}, loadsModule: s.options.HasModule}
}

// Set brings the proxies of a Gateway to a snapshot. It does not wait for them.
func (s *Server) Set(key string, next *Snapshot) { s.set(key, next, false) }

// Remove says that there is no such Gateway any more, since a time: its proxies are brought to nothing.
func (s *Server) Remove(key string, since time.Time) { s.set(key, NewSnapshot(since), true) }

func (s *Server) set(key string, next *Snapshot, gone bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	g := s.findGateway(key)
	g.gone = gone
	changed := next.changesSince(g.latest)
	if g.latest != nil && changed.isEmpty() {
		return
	}
	s.gateways[key] = g
	g.latest, g.named = next, max(g.named, next.named)
	for one := range g.streams {
		one.inbox.put(next, changed)
	}
}

// Latest is what the proxies of a Gateway ought to have; nil if that is not known.
func (s *Server) Latest(key string) *Snapshot {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.findGateway(key).latest
}

// HasLatestRoutes tells whether an Envoy has the routes, and with them the session policies, of what its Gateway's
// proxies ought to have, whatever it has not taken besides.
func (s *Server) HasLatestRoutes(c ClientStatus) bool {
	latest := s.Latest(c.Gateway)
	return latest == nil || c.routed >= latest.Number
}

// isThere tells whether there is something for a Gateway. One that is gone has that as long as it has proxies.
func (g *gateway) isThere() bool { return g.latest != nil && (!g.gone || len(g.streams) > 0) }

// Gateways are those that there is something for, in order.
func (s *Server) Gateways() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	var keys []string
	for key, g := range s.gateways {
		if g.isThere() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// join lets a stream in, unless there are as many of its Gateway from its address as there may be, or of its namespace.
func (s *Server) join(gateway string, one *stream) error {
	if !one.reckon(streamCost) {
		return one.excess()
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	g, same := s.findGateway(gateway), 0
	for other := range g.streams {
		if other.host == one.host {
			same++
		}
	}
	if s.options.MostStreams > 0 && same >= s.options.MostStreams {
		one.reckon(0)
		return s.excess("streams", "Gateway %s has %d connections from this address", gateway, s.options.MostStreams)
	}
	s.gateways[gateway] = g
	g.streams[one] = true
	one.client.supposes = g.loadsModule
	if g.latest != nil {
		one.inbox.put(g.latest, g.latest.changesSince(nil))
	}
	return nil
}

func (s *Server) leave(gateway string, one *stream) {
	s.lock.Lock()
	defer s.lock.Unlock()
	one.reckon(0)
	g := s.findGateway(gateway)
	if delete(g.streams, one); g.latest == nil && len(g.streams) == 0 {
		delete(s.gateways, gateway) // whoever connects may name any
	}
}

// namedOf is what the names of a Gateway come to for an Envoy that has and wants them all.
func (s *Server) namedOf(gateway string) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.findGateway(gateway).named
}

// largestNamed is that of the largest Gateway of a namespace, or of all where that is empty.
func (s *Server) largestNamed(namespace string) (most int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for key, g := range s.gateways {
		if namespace == "" || strings.HasPrefix(key, namespace+"/") {
			most = max(most, g.named)
		}
	}
	return most
}
