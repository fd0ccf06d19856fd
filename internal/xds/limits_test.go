package xds

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// valueOf is a metric's value of a label; of the first one for no label.
func valueOf(t *testing.T, from prometheus.Gatherer, name, label string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// TestServerClaims: whoever says to be of Gateways that are not there leaves nothing behind.
func TestServerClaims(t *testing.T) {
	s, log, connect := startServer(t, Options{Deadline: time.Second})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	for i := range 20 {
		one := connect(fmt.Sprint(i), fmt.Sprintf("default/claimed-%d", i))
		await(t, "it is connected", func() bool { return log.has(fmt.Sprint("connected ", i)) })
		if err := one.stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
	}
	known := func() int {
		s.lock.Lock()
		defer s.lock.Unlock()
		return len(s.gateways)
	}
	await(t, "one Gateway is known", func() bool { return known() == 1 })
	if _, err := connect("long", "default/"+strings.Repeat("x", 1000)).receive(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a name that no Gateway has is told %v", err)
	}
}

// TestServerFirstMessage: a connection without a message is ended, and counted; one that had its message, and no stream any more, too.
func TestServerFirstMessage(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, log, connect := startServer(t, Options{Deadline: time.Second, Within: 200 * time.Millisecond, Metrics: NewMetrics(registry)})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	stays := connect("stays", "default/one")
	if _, err := stays.receive(); err != nil {
		t.Fatal(err)
	}
	if silent, err := net.Dial("tcp", stays.target); err == nil {
		defer func() { _ = silent.Close() }()
	}
	leaves := connect("leaves", "default/one")
	if _, err := leaves.receive(); err != nil {
		t.Fatal(err)
	}
	if err := leaves.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	await(t, "two are ended", func() bool { return valueOf(t, registry, "limpet_xds_unknown_ended_total", "late") >= 2 })
	await(t, "and so it is not known of none", func() bool { return valueOf(t, registry, "limpet_xds_unknown_connections", "") == 0 })
	if log.has("disconnected stays") {
		t.Error("one that is known is ended")
	}
}

// TestServerMessages: an Envoy that comes back says all that it has, be it twice of what there is; a message beyond that is not read.
func TestServerMessages(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, _, connect := startServer(t, Options{Deadline: time.Second, Metrics: NewMetrics(registry)})
	var text strings.Builder
	const many = 2000
	name := func(i int) string { return fmt.Sprint(strings.Repeat("n", 200), i) }
	for i := range many {
		fmt.Fprintln(&text, "cluster", name(i))
	}
	s.Set("default/large", listed(t, time.Now(), text.String()))
	s.Set("default/small", listed(t, time.Now(), "cluster a"))
	for _, c := range []struct {
		gateway string
		names   int
		code    codes.Code
	}{
		{"default/large", 2 * many, codes.OK},
		{"default/small", many, codes.OK},
		{"default/small", 6 * many, codes.ResourceExhausted},
		{"default/large", 12 * many, codes.ResourceExhausted},
	} {
		one := connect("node", c.gateway)
		if _, err := one.receive(); err != nil {
			t.Fatal(err)
		}
		has := map[string]string{}
		for i := range c.names {
			has[name(i)] = "0123456789abcdef01234567"
		}
		one.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: Listener.URL(), InitialResourceVersions: has})
		if _, err := one.receive(); status.Code(err) != c.code {
			t.Errorf("%s, and %d names: %v", c.gateway, c.names, err)
		}
	}
	if n := valueOf(t, registry, "limpet_xds_excess_total", "message"); n != 2 {
		t.Errorf("%v are counted", n)
	}
}

// TestServerFirstMessageIsBounded: so is the message by which a client says who it is.
func TestServerFirstMessageIsBounded(t *testing.T) {
	s, _, connect := startServer(t, Options{Deadline: time.Second})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	if _, err := connect(strings.Repeat("n", 2<<20), "default/one").receive(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("it is told %v", err)
	}
}

// TestTakenBack: names that were never asked for leave nothing behind when they are taken back, but that they are counted.
func TestTakenBack(t *testing.T) {
	c := newClient(time.Second, silent{}, time.Now())
	for i := range 1000 {
		c.take(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: Endpoint.URL(), ResourceNamesUnsubscribe: []string{fmt.Sprint(i)}}, time.Now())
	}
	if len(c.dirty[Endpoint]) > 0 || c.requested != 1000*nameCost {
		t.Errorf("%d names are kept, reckoned %d", len(c.dirty[Endpoint]), c.requested)
	}
}

// TestServerBudget: the Envoys of a namespace share what there is for them, over all of its Gateways, and what one has that goes is free.
func TestServerBudget(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, log, connect := startServer(t, Options{Deadline: time.Second, Budget: 8 * streamCost, Metrics: NewMetrics(registry)})
	for _, key := range []string{"evil/one", "evil/two", "shop/one"} {
		s.Set(key, listed(t, time.Now(), "cluster a"))
	}
	var last *session
	for i := range 6 {
		last = connect("node", []string{"evil/one", "evil/two"}[i%2])
		if _, err := last.receive(); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := connect("node", "evil/one").receive(); status.Code(err) != codes.ResourceExhausted || !log.has("refused rpc error: code = ResourceExhausted") {
		t.Errorf("one more is told %v", err)
	}
	if _, err := connect("node", "shop/one").receive(); err != nil {
		t.Errorf("another namespace's is told %v", err)
	}
	last.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: Secret.URL(), ResourceNamesSubscribe: []string{strings.Repeat("n", streamCost)}})
	for err := error(nil); status.Code(err) != codes.ResourceExhausted; {
		if _, err = last.receive(); err != nil && status.Code(err) != codes.ResourceExhausted {
			t.Fatalf("who asks for more is told %v", err)
		}
	}
	if _, err := connect("node", "evil/one").receive(); err != nil {
		t.Errorf("where one has gone, another one is told %v", err)
	}
	if n := valueOf(t, registry, "limpet_xds_excess_total", "memory"); n != 2 {
		t.Errorf("%v are counted", n)
	}
}

// TestBudget: where all is used, who has no more than an equal part may have it, and nobody else; who has more gives it up. However many
// namespaces there are, they have no more than there is together.
func TestBudget(t *testing.T) {
	b := newBudget(100)
	streams := map[string]*stream{}
	for i, step := range []struct {
		stream string // its namespace, and a number
		cost   int
		want   bool
		going  string
	}{
		{"a1", 76, false, ""},
		{"a1", 50, true, ""},
		{"a2", 25, true, ""},
		{"a3", 1, false, ""},
		{"b1", 25, true, ""},
		{"a2", 26, false, ""},
		{"b2", 24, true, "a1"}, // half of it
		{"a1", 1, false, ""},   // it goes
		{"b3", 1, true, ""},
		{"c1", 33, true, "b1"}, // that came later
		{"c2", 1, true, ""},
		{"c3", 10, true, ""},
		{"d1", 25, true, "c1"},
		{"d1", 0, true, ""},
	} {
		one := streams[step.stream]
		if one == nil {
			one = &stream{namespace: step.stream[:1]}
			streams[step.stream] = one
		}
		got, going := b.reckon(one, step.cost)
		names := ""
		for name, other := range streams {
			if slices.Contains(going, other) {
				names += name
			}
		}
		if got != step.want || names != step.going || b.all > b.most {
			t.Errorf("step %d, %s %d: %v, and %q go; %d are used: %v", i, step.stream, step.cost, got, names, b.all, b.of)
		}
	}
	for _, one := range streams {
		b.reckon(one, 0)
	}
	if b.all != 0 || len(b.of) != 0 || len(b.streams) != 0 {
		t.Errorf("%d are left, of %v", b.all, b.of)
	}
}

// TestServerBudgetOfMany: namespaces that come one after the other have no more than there is together. For each that has less than an
// equal part connections go of who has the most, and are told of.
func TestServerBudgetOfMany(t *testing.T) {
	const capacity = 8
	s, log, connect := startServer(t, Options{Deadline: time.Second, Budget: capacity * streamCost})
	for i, streams := range []int{6, 4, 2, 2, 1} {
		key := fmt.Sprintf("evil%d/gw", i)
		s.Set(key, listed(t, time.Now(), "cluster a"))
		for range streams {
			if _, err := connect("node", key).receive(); err != nil {
				t.Fatalf("one of %s is told %v", key, err)
			}
		}
	}
	await(t, "no more are there than there is room for", func() bool { return len(s.Clients()) == capacity })
	if !log.has("refused rpc error: code = ResourceExhausted desc = the Envoys of namespace evil0") {
		t.Error("it is not told")
	}
	if _, err := connect("node", "evil0/gw").receive(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("who had the most is told %v", err)
	}
}

// TestServerUnread: what Envoys do not read is kept for as many as there is room for. Those that come after wait, and get it where others
// have taken theirs.
func TestServerUnread(t *testing.T) {
	const streams, capacity, size = 12, 3, 1 << 20
	registry := prometheus.NewRegistry()
	s, _, connect := startServer(t, Options{
		Deadline: time.Second, Budget: (capacity*(size+2*streamCost) + streams*streamCost) / 3 * 4, Metrics: NewMetrics(registry),
	})
	s.Set("evil/gw", listed(t, time.Now(), "cluster large "+strings.Repeat("x", size)))
	s.Set("shop/gw", listed(t, time.Now(), "cluster a"))
	var all []*session
	for range streams {
		all = append(all, connect("node", "evil/gw"))
	}
	sent := func() float64 { return valueOf(t, registry, "limpet_xds_pushes_total", Cluster.String()) }
	await(t, "all are there, and some are sent something", func() bool { return len(s.Clients()) == streams && sent() >= capacity })
	if _, err := connect("node", "shop/gw").receive(); err != nil {
		t.Errorf("another namespace's is told %v", err)
	}
	if n := sent(); n > capacity+1 {
		t.Errorf("%.0f are sent what they do not read, with room for %d", n, capacity)
	}
	var reading sync.WaitGroup
	for i, one := range all {
		reading.Go(func() {
			if _, err := one.receive(); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	reading.Wait()
}

// TestWithhold: endpoints go without the addresses that have passed to another pod until the server may tell of those, and all else goes on.
func TestWithhold(t *testing.T) {
	s, _, connect := startServer(t, Options{Deadline: time.Minute})
	s.Set("default/one", listed(t, time.Now(), "cluster a\ncluster b"))
	one := connect("one", "default/one")
	if _, err := one.receive(); err != nil {
		t.Fatal(err)
	}
	one.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: Endpoint.URL(), ResourceNamesSubscribe: []string{"a", "b"}})
	if _, err := one.receive(); err != nil {
		t.Fatal(err)
	}
	await(t, "it has all routes", func() bool { return s.HasLatestRoutes(s.Clients()[0]) })
	want := func(content string) {
		t.Helper()
		for {
			message, err := one.stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			one.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: message.GetTypeUrl(), ResponseNonce: message.GetNonce()})
			if all := message.GetResources(); len(all) > 0 {
				if got := string(all[0].GetResource().GetValue()); len(all) > 1 || got != content {
					t.Errorf("it gets %d, of which one is %q; want %q", len(all), got, content)
				}
				return
			}
		}
	}
	for _, name := range []string{"first", "second"} {
		s.Withhold(LastNumber())
		s.Set("default/one", s.Latest("default/one").Edit(time.Now(), endpoints(unacknowledged("a", name+" moved", name))))
		want(name)
		s.Set("default/one", s.Latest("default/one").Edit(time.Now(), endpoints(text(Endpoint, "b", name+" of others"))))
		want(name + " of others")
		s.Withhold(math.MaxUint64)
		want(name + " moved")
	}
}
