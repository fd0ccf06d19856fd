package xds

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// TestServer holds that clients get the resources of their own Gateway, at once and when they change, and that the server
// knows how far each has come.
func TestServer(t *testing.T) {
	s, log, connect := startServer(t, Options{Deadline: time.Second, Metrics: NewMetrics(prometheus.NewRegistry())})
	s.Set("default/one", listed(t, time.Now(), "cluster a\ncluster b"))
	s.Set("default/two", listed(t, time.Now(), "cluster c"))
	for cluster, want := range map[string]string{"default/one": "a b ", "default/two": "c "} {
		if got, err := connect(cluster, cluster).receive(); got != want || err != nil {
			t.Errorf("%s gets %q, %v; want %q", cluster, got, err, want)
		}
	}
	early := connect("early", "default/three") // before there is anything for it
	await(t, "it is connected", func() bool { return log.has("connected early") })
	s.Set("default/three", listed(t, time.Now(), "cluster d"))
	if got, err := early.receive(); got != "d " || err != nil {
		t.Errorf("early gets %q, %v", got, err)
	}
	if got := s.Gateways(); strings.Join(got, " ") != "default/one default/three default/two" {
		t.Errorf("Gateways are %q", got)
	}
	if got := s.Clients(); len(got) != 3 || got[0].Gateway != "default/one" || got[0].Generation != "" {
		t.Errorf("clients are %+v", got)
	}
}

// TestServerOwnTime: how long limpet takes of itself is measured for an Envoy that is there when a change comes and owes no answer.
func TestServerOwnTime(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, _, connect := startServer(t, Options{Deadline: 10 * time.Millisecond, Metrics: NewMetrics(registry)})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	one := connect("one", "default/one")
	if got, err := one.receive(); got != "a " || err != nil {
		t.Fatal(got, err)
	}
	await(t, "its answer is there", func() bool { return s.Clients()[0].Stage == stageRemovals.String() })
	s.Set("default/one", listed(t, time.Now(), "cluster a\ncluster b"))
	if got, err := one.receive(); got != "b " || err != nil {
		t.Fatal(got, err)
	}
	await(t, "it is measured", func() bool {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "limpet_xds_change_send_seconds" {
				h := f.GetMetric()[0].GetHistogram()
				return h.GetSampleCount() == 1 && h.GetSampleSum() > 0
			}
		}
		return false
	})
}

// TestServerEndpoints holds that other endpoints reach a client that owes an answer to something else.
func TestServerEndpoints(t *testing.T) {
	s, _, connect := startServer(t, Options{Deadline: time.Minute})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	one := connect("one", "default/one")
	if _, err := one.receive(); err != nil {
		t.Fatal(err)
	}
	one.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: Endpoint.URL(), ResourceNamesSubscribe: []string{"a"}})
	if got, err := one.receive(); got != "a " || err != nil {
		t.Fatal(got, err)
	}
	await(t, "it has all routes", func() bool { return s.HasLatestRoutes(s.Clients()[0]) })
	s.Set("default/one", listed(t, time.Now(), "cluster a\ncluster b\nroutes r cluster:b\nlistener l routes:r"))
	if s.HasLatestRoutes(s.Clients()[0]) {
		t.Error("it is said to have routes that it was never sent")
	}
	if message, err := one.stream.Recv(); err != nil || message.GetTypeUrl() != Cluster.URL() { // and it gets no answer
		t.Fatal(message, err)
	}
	s.Set("default/one", s.Latest("default/one").Edit(time.Now(), endpoints(text(Endpoint, "a", "other"))))
	if got, err := one.receive(); got != "a " || err != nil {
		t.Errorf("it gets %q, %v", got, err)
	}
}

// TestServerRemove: a Gateway that is gone is shown as long as it has proxies. Those that come back later are to have nothing.
func TestServerRemove(t *testing.T) {
	s, _, connect := startServer(t, Options{Deadline: time.Second})
	for _, key := range []string{"default/one", "default/unused"} {
		s.Set(key, listed(t, time.Now(), "cluster a"))
	}
	one := connect("one", "default/one")
	if got, err := one.receive(); got != "a " || err != nil {
		t.Fatal(got, err)
	}
	s.Remove("default/one", time.Now())
	s.Remove("default/unused", time.Now())
	if got := s.Gateways(); !slices.Equal(got, []string{"default/one"}) {
		t.Errorf("there are %v", got)
	}
	if err := one.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	await(t, "it is shown no more", func() bool { return len(s.Gateways()) == 0 })
	if got, err := connect("again", "default/one").receive(); got != "" || err != nil {
		t.Errorf("a proxy that comes back gets %q, %v", got, err)
	}
	s.Set("default/one", listed(t, time.Now(), "cluster b"))
	if got := s.Gateways(); !slices.Equal(got, []string{"default/one"}) {
		t.Errorf("when it is there again, there are %v", got)
	}
}

// TestServerLongTexts: of what a client calls itself, and of what it says of a resource, no more is kept and told than people read.
func TestServerLongTexts(t *testing.T) {
	long := strings.Repeat("Ä", 200<<10)
	s, log, connect := startServer(t, Options{Deadline: time.Second})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	one := connect(long, "default/one")
	message, err := one.stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	one.send(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: Cluster.URL(), ResponseNonce: message.GetNonce(), ErrorDetail: &rpcstatus.Status{Message: long},
	})
	await(t, "it rejects that", func() bool { return len(s.Clients()[0].Rejected) == 1 })
	if c := s.Clients()[0]; len(c.Node) > 2*maxText || len(c.Rejected[0].Words) > 2*maxText || !utf8.ValidString(c.Node) || c.Rejected[0].Words[:2] != "Ä" {
		t.Errorf("%d bytes of a name and %d of words are kept", len(c.Node), len(c.Rejected[0].Words))
	}
	if _, err := connect("two", long).receive(); status.Code(err) != codes.PermissionDenied || len(err.Error()) > 2*maxText {
		t.Errorf("who is refused is told so in %d bytes", len(err.Error()))
	}
	log.lock.Lock()
	defer log.lock.Unlock()
	for _, event := range log.all {
		if len(event) > 2*maxText {
			t.Errorf("the log has an event of %d bytes: %.30s", len(event), event)
		}
	}
}

// TestServerRefusals: who is refused again and again is told of a few times, and counted each time.
func TestServerRefusals(t *testing.T) {
	const times = 10 * refusalsAtOnce
	registry := prometheus.NewRegistry()
	s, log, _ := startServer(t, Options{Deadline: time.Second, Metrics: NewMetrics(registry)})
	for range times {
		_ = s.refuse(&peer.Peer{Addr: &net.TCPAddr{}}, errors.New("no certificate"))
	}
	if logged := len(log.all); logged < refusalsAtOnce || logged > refusalsAtOnce+10 {
		t.Errorf("the log is told %d times", logged)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if n := f.GetMetric()[0].GetCounter().GetValue(); f.GetName() == "limpet_xds_refused_total" && int(n) != times {
			t.Errorf("%v are counted", n)
		}
	}
}

// TestServerConnectionAge holds that connections end, but for those on which an answer is due.
func TestServerConnectionAge(t *testing.T) {
	s, log, connect := startServer(t, Options{Deadline: 40 * time.Millisecond, ConnectionAge: 100 * time.Millisecond})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	connect("busy", "default/one")
	idle := connect("idle", "default/one")
	if _, err := idle.receive(); err != nil {
		t.Fatal(err)
	}
	if _, err := idle.receive(); status.Code(err) != codes.Unavailable {
		t.Errorf("it ends with %v", err)
	}
	await(t, "the other is late", func() bool { return log.has("late busy") })
	if log.has("disconnected busy") {
		t.Error("a connection ended on which an answer was due")
	}
	for range 100 {
		if d := time.Until(s.options.endOf(time.Now())); d < 75*time.Millisecond || d > 120*time.Millisecond {
			t.Errorf("a connection ends after %v", d)
		}
	}
	if forever := (&Options{}).endOf(time.Now()); !forever.IsZero() {
		t.Errorf("without an age it ends at %v", forever)
	}
}

// TestServerSpeaksDeltaOnly holds that the protocol's older half is refused, in words that help.
func TestServerSpeaksDeltaOnly(t *testing.T) {
	s, _, _ := startServer(t, Options{Deadline: time.Second})
	if err := s.StreamAggregatedResources(nil); status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "DELTA_GRPC") {
		t.Errorf("it says %v", err)
	}
}

// TestIdentify holds whose resources a peer gets.
func TestIdentify(t *testing.T) {
	certified := func(uris ...string) credentials.AuthInfo {
		leaf := &x509.Certificate{}
		for _, text := range uris {
			uri, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			leaf.URIs = append(leaf.URIs, uri)
		}
		chain := []*x509.Certificate{leaf}
		return credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: chain, VerifiedChains: [][]*x509.Certificate{chain}}}
	}
	const one = "spiffe://limpet/ns/default/gateway/one"
	here, there := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}
	for name, c := range map[string]struct {
		address      net.Addr
		info         credentials.AuthInfo
		claimed      string
		want, reason string
	}{
		"by certificate":              {there, certified(one), "default/one", "default/one", ""},
		"a cluster of another kind":   {there, certified(one), "edge", "default/one", ""},
		"another's name":              {there, certified(one), "default/two", "", "for Gateway default/one"},
		"no URI":                      {there, certified(), "default/one", "", "has 0 URIs"},
		"two URIs":                    {there, certified(one, strings.Replace(one, "one", "two", 1)), "default/one", "", "has 2 URIs"},
		"another domain":              {there, certified(strings.Replace(one, "limpet", "other", 1)), "default/one", "", "must be spiffe://limpet/"},
		"a longer path":               {there, certified(one + "/more"), "default/one", "", "must be spiffe://limpet/"},
		"a query":                     {there, certified(one + "?x"), "default/one", "", "must be spiffe://limpet/"},
		"escapes":                     {there, certified(strings.Replace(one, "one", "a%2Fb", 1)), "", "", "must be spiffe://limpet/"},
		"no name":                     {there, certified("spiffe://limpet/ns/default/gateway/"), "", "", "must be spiffe://limpet/"},
		"a certificate of unknown CA": {there, credentials.TLSInfo{}, "default/one", "", "no certificate"},
		"plain text":                  {here, nil, "default/one", "default/one", ""},
		"plain text from elsewhere":   {there, nil, "default/one", "", "only clients on the loopback"},
		"plain text without a name":   {here, nil, "edge", "", "must name a Gateway"},
	} {
		_, identify, err := AuthenticateByCertificate("limpet")(t.Context(), &peer.Peer{Addr: c.address, AuthInfo: c.info})
		if err != nil {
			t.Fatal(err)
		}
		got, err := identify(&corev3.Node{Cluster: c.claimed})
		if got.Gateway != c.want || (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %+v, %v; want %q, %q", name, got, err, c.want, c.reason)
		}
	}
}

// TestServerLimitsOneAddress: of one address there are as many streams of a Gateway as there may be, and of another Gateway still some.
func TestServerLimitsOneAddress(t *testing.T) {
	s, log, connect := startServer(t, Options{Deadline: time.Second, MostStreams: 2})
	for _, key := range []string{"default/one", "default/two"} {
		s.Set(key, listed(t, time.Now(), "cluster a"))
	}
	var first *session
	for _, key := range []string{"default/one", "default/one", "default/two"} {
		one := connect("node", key)
		if _, err := one.receive(); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		first = cmp.Or(first, one)
	}
	_, err := connect("node", "default/one").receive()
	if status.Code(err) != codes.ResourceExhausted || len(s.Clients()) != 3 || !log.has("refused rpc error: code = ResourceExhausted desc = Gateway default/one has 2 connections") {
		t.Errorf("a third one is told %v; there are %d; told of are %v", err, len(s.Clients()), log.all)
	}
	if err := first.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	await(t, "it goes", func() bool { return len(s.Clients()) == 2 })
	if _, err := connect("node", "default/one").receive(); err != nil {
		t.Errorf("where one has gone, another one is told %v", err)
	}
}

// TestServerLimitsNames: a client that asks for names without end is sent away, and what it takes back doesn't count.
func TestServerLimitsNames(t *testing.T) {
	s, _, connect := startServer(t, Options{Deadline: time.Second})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	one := connect("one", "default/one")
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := one.stream.Recv(); err != nil {
				ended <- err
				return
			}
		}
	}()
	name := strings.Repeat("n", 200<<10)
	ask := func(i int, takesBack bool) error {
		request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: Secret.URL(), ResourceNamesSubscribe: []string{fmt.Sprint(name, i)}}
		if err := one.stream.Send(request); err != nil || !takesBack {
			return err
		}
		return one.stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: Secret.URL(), ResourceNamesUnsubscribe: request.GetResourceNamesSubscribe()})
	}
	many := 2 * moreThanServed / len(name)
	for i := range many {
		if err := ask(i, true); err != nil {
			t.Fatalf("a client that takes back what it asks for is told %v", err)
		}
	}
	for i := 0; i < 2*many && ask(i, false) == nil; i++ { // until it is over
	}
	select {
	case err := <-ended:
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("it is told %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Errorf("%d MB are taken", 2*many*len(name)>>20)
	}
}
