package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestServe changes endpoints, weights, policies, routes and keys that limpet serve serves over xDS, with a broken file in
// between, while every session is in use: no request fails and no session moves.
func TestServe(t *testing.T) {
	t.Parallel()
	s := newServedScenery(t)
	s.makeHotChanges(t, "hot changes over xDS (limpet serve)", harness.Size(20, 1000))
}

// newServedScenery is newScenery with limpet serve, and an Envoy that starts from its bootstrap.
func newServedScenery(t *testing.T, flags ...string) *scenery {
	t.Helper()
	s, documents := paintScenery(t)
	serving := harness.Serve(t, documents, s.ring.Only(s.signing...), flags...)
	s.Watching = serving.Watching
	serving.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	return s
}

// TestServeListeners adds HTTPS listeners, renews their certificates and takes them away, while sessions on the plain one
// and on the first site are in use.
func TestServeListeners(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
	documents.Sites = []harness.Site{{Hostname: "one.example", Certificate: harness.NewCertificate(t, "one.example")}}
	s := harness.Serve(t, documents, harness.NewRing("k"))
	envoy := s.Bootstrap(t, "--admin=all").Start(t)
	s.AwaitAcknowledged(t)
	clients := harness.NewClients(t, 12, func(i int) func() (harness.Response, error) {
		return harness.Getter(envoy.Client(), "/cart", quietly)
	})
	clients.Every = 5 * time.Millisecond
	var renewed harness.Certificate
	tally := clients.During(func() {
		for range harness.Size(3, 30) {
			s.Set(t, func(d *harness.Documents) {
				d.Sites = append(d.Sites, harness.Site{Hostname: "two.example", Certificate: harness.NewCertificate(t, "two.example")})
			})
			if got := shownCertificate(t, s.Documents.TLSPort, "two.example"); got == "" {
				t.Error("the new site shows no certificate")
			}
			renewed = harness.NewCertificate(t, "one.example")
			s.Set(t, func(d *harness.Documents) { d.Sites[0].Certificate = renewed })
			s.Set(t, func(d *harness.Documents) { d.Sites = d.Sites[:1] })
		}
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	if got := shownCertificate(t, s.Documents.TLSPort, "one.example"); !strings.Contains(renewed.Chain, got) || got == "" {
		t.Error("the site shows another certificate than the renewed one")
	}
	if dump := envoy.Admin(t, "/config_dump?include_eds"); strings.Contains(dump, "PRIVATE KEY") {
		t.Error("Envoy's config_dump shows a private key")
	}
}

// shownCertificate is the base64 of the middle of what a site shows; empty for nothing.
func shownCertificate(t *testing.T, port int, host string) string {
	t.Helper()
	connection, err := tls.Dial("tcp", harness.Loopback(port), &tls.Config{ServerName: host, InsecureSkipVerify: true})
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = connection.Close() }()
	return harness.ExcerptOf(connection.ConnectionState().PeerCertificates[0])
}

// TestServeRejected makes an Envoy reject a listener, whose port is taken: what it had goes on, its words are told, other changes
// go on, and the listener comes by itself when the port is free.
func TestServeRejected(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	pods := harness.Backends(t, "a", "b", "c")
	s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	home := stay(t, client, "/cart", 5)

	good := s.Documents.YAML(t)
	port := taken.Addr().(*net.TCPAddr).Port
	bad := strings.Replace(good, "  - {name: http, protocol: HTTP, port:", fmt.Sprintf(
		"  - {name: taken, protocol: HTTP, port: %d}\n  - {name: http, protocol: HTTP, port:", port), 1)
	s.SetText(t, bad)
	status := s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return len(e.Rejected) > 0 })
	if r := status.Rejected[0]; r.Type != "listeners" || !strings.Contains(r.Message, "ddress already in use") {
		t.Errorf("rejected is %+v", r)
	}
	if next := stay(t, client, "/cart", 5); next != home {
		t.Errorf("the session moved from %s to %s", home, next)
	}
	s.SetText(t, strings.Replace(bad, "/cart", "/basket", 1)) // other changes go on
	eventually(t, "another change is live", func() bool {
		return envoy.Client().Get(t, "/basket").Status == http.StatusOK
	})
	_ = taken.Close()
	s.AwaitAcknowledged(t)
	visit(t, harness.NewClient(port), "/basket")
	s.SetText(t, good)
	s.AwaitAcknowledged(t)
	if next := stay(t, client, "/cart", 5); next != home {
		t.Errorf("the session moved from %s to %s", home, next)
	}
}

// readPushes reads how many messages were sent, of the types of which there were any.
func readPushes(t *testing.T, s *harness.Serving) map[string]float64 {
	t.Helper()
	response, err := http.Get("http://" + harness.Loopback(s.AdminPort) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		var count float64
		if rest, is := strings.CutPrefix(line, `limpet_xds_pushes_total{type="`); is {
			name, value, _ := strings.Cut(rest, `"} `)
			if _, err := fmt.Sscan(value, &count); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			if count > 0 {
				found[name] = count
			}
		}
	}
	return found
}

// TestServeHangingClient has a client that asks and never answers: it is reported as late, and an Envoy that is there too
// gets every change.
func TestServeHangingClient(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b")
	s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"), "--ack-deadline", "300ms")
	hung, err := dialServe(t, s.Listen, insecure.NewCredentials())
	if err != nil {
		t.Fatal(err)
	}
	ask(t, hung, "hung", harness.EdgeGateway)
	envoy := s.Bootstrap(t).Start(t)
	for i := range 3 {
		path := fmt.Sprintf("/cart%d", i)
		s.SetText(t, strings.Replace(s.Documents.YAML(t), "/cart", path, 1))
		s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool {
			return e.Generation != "" && e.Generation == e.Target && e.Late == ""
		})
		eventually(t, "the change is live", func() bool { return envoy.Client().Get(t, path).Status == http.StatusOK })
	}
	late := s.AwaitEnvoy(t, "hung", func(e harness.ServedEnvoy) bool { return e.Late != "" })
	if !strings.HasPrefix(late.Late, "no answer to clusters for ") || late.Generation != "" {
		t.Errorf("it is said to be %+v", late)
	}
	if _, acknowledged := s.Status(t); acknowledged {
		t.Error("limpet status says that every Envoy has everything")
	}
}

// TestServeRestart ends limpet serve by SIGKILL: its Envoy serves on, comes back to the next one, and gets nothing that it
// has already.
func TestServeRestart(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	home := stay(t, client, "/cart", 5)
	s.Kill(t)
	if next := stay(t, client, "/cart", 20); next != home {
		t.Errorf("the session moved from %s to %s", home, next)
	}
	s.ServeAgain(t)
	s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return e.Generation != "" && e.Generation == e.Target })
	if pushes := readPushes(t, s); len(pushes) > 0 {
		t.Errorf("an Envoy that has everything was sent %v", pushes)
	}
	s.Set(t, func(d *harness.Documents) { d.Services[0].Backends = pods[:2] })
	if pushes := readPushes(t, s); len(pushes) != 1 || pushes["endpoints"] != 1 {
		t.Errorf("for other endpoints it was sent %v", pushes)
	}
}

// TestServeStrangers has clients with and without certificates ask for resources: each gets those of its own Gateway, or
// nothing.
func TestServeStrangers(t *testing.T) {
	t.Parallel()
	authority, other := harness.NewAuthority(t), harness.NewAuthority(t)
	folder := t.TempDir()
	authority.Issue(t, folder, "server", "localhost", "")
	authority.Issue(t, folder, "edge", "", "spiffe://limpet/ns/default/gateway/edge")
	authority.Issue(t, folder, "two", "", "spiffe://limpet/ns/default/gateway/two")
	authority.Issue(t, folder, "nameless", "envoy.example", "")
	authority.Issue(t, folder, "foreign-domain", "", "spiffe://elsewhere/ns/default/gateway/edge")
	other.Issue(t, folder, "forged", "", "spiffe://limpet/ns/default/gateway/edge")
	file := func(name string) string { return filepath.Join(folder, name) }
	pods := harness.Backends(t, "a", "b")
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
	documents.Sites = []harness.Site{{Certificate: harness.NewCertificate(t)}}
	documents.More = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: two, namespace: default}
spec:
  gatewayClassName: limpet
  listeners: [{name: http, protocol: HTTP, port: 8080}]
`
	ring := harness.NewRing("k")
	s := harness.Serve(t, documents, ring,
		"--tls-cert", file("server.crt"), "--tls-key", file("server.key"), "--tls-ca", file("server-ca.crt"))

	client := s.Bootstrap(t, "--tls-cert", file("edge.crt"), "--tls-key", file("edge.key"), "--tls-ca", file("edge-ca.crt"),
		"--server-name", "localhost").Start(t).Client()
	stay(t, client, "/cart", 5)

	for _, c := range []struct {
		certificate, claims string
		refused             codes.Code // OK for none
		clusters            int
	}{
		{"", harness.EdgeGateway, codes.Unavailable, 0},
		{"forged", harness.EdgeGateway, codes.Unavailable, 0},
		{"nameless", harness.EdgeGateway, codes.PermissionDenied, 0},
		{"foreign-domain", harness.EdgeGateway, codes.PermissionDenied, 0},
		{"two", harness.EdgeGateway, codes.PermissionDenied, 0},
		{"two", "default/two", codes.OK, 0},
		{"two", "", codes.OK, 0},
		{"edge", harness.EdgeGateway, codes.OK, 1},
	} {
		config := &tls.Config{ServerName: "localhost", RootCAs: authority.Pool()}
		if c.certificate != "" {
			pair, err := tls.LoadX509KeyPair(file(c.certificate+".crt"), file(c.certificate+".key"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		got, err := exchange(t, s.Listen, credentials.NewTLS(config), c.claims)
		if status.Code(err) != c.refused || got != c.clusters {
			t.Errorf("certificate %q as %q: %d clusters, %v; want %d, %v", c.certificate, c.claims, got, err, c.clusters, c.refused)
		}
	}
	if text := s.Output(); strings.Contains(text, "PRIVATE KEY") {
		t.Error("the log shows a private key")
	}
	for _, path := range []string{"/config?gateway=" + harness.EdgeGateway, "/status", "/metrics"} {
		text := readServe(t, s, path)
		for _, secret := range append(ring.Secrets(), "PRIVATE KEY") {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows a key", path)
			}
		}
	}
}

// dialServe connects to limpet serve, for a minute.
func dialServe(t *testing.T, address string, with credentials.TransportCredentials) (deltaStream, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return openStream(ctx, t, address, with)
}

// openStream connects to limpet serve until ctx or the test ends.
func openStream(ctx context.Context, t *testing.T, address string, with credentials.TransportCredentials) (deltaStream, error) {
	t.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(with))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
}

// deltaStream is a connection to limpet serve.
type deltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient

// ask asks for clusters as a node of a cluster.
func ask(t *testing.T, stream deltaStream, node, cluster string) {
	t.Helper()
	if err := stream.Send(newRequest(node, cluster)); err != nil {
		t.Fatal(err)
	}
}

func newRequest(node, cluster string) *discoveryv3.DeltaDiscoveryRequest {
	return &discoveryv3.DeltaDiscoveryRequest{
		Node:    &corev3.Node{Id: node, Cluster: cluster},
		TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
	}
}

// exchange asks for clusters and gives how many came.
func exchange(t *testing.T, address string, with credentials.TransportCredentials, cluster string) (int, error) {
	t.Helper()
	stream, err := dialServe(t, address, with)
	if err != nil {
		return 0, err
	}
	if err := stream.Send(newRequest("stranger", cluster)); err != nil && !errors.Is(err, io.EOF) {
		return 0, err // else Recv says why the connection has ended
	}
	answer, err := stream.Recv()
	return len(answer.GetResources()), err
}

// readServe reads a page of limpet serve's own admin address.
func readServe(t *testing.T, s *harness.Serving, path string) string {
	t.Helper()
	response, err := http.Get("http://" + harness.Loopback(s.AdminPort) + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, status %d", path, err, response.StatusCode)
	}
	return string(text)
}
