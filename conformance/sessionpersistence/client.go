package sessionpersistence

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	v1 "sigs.k8s.io/gateway-api/apis/v1"
	pb "sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
	suitegrpc "sigs.k8s.io/gateway-api/conformance/utils/grpc"
	suitehttp "sigs.k8s.io/gateway-api/conformance/utils/http"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// routeKind is what differs between the tests of HTTPRoutes and GRPCRoutes: how a route is accepted and a request is
// sent.
type routeKind struct {
	name, file string
	feature    features.FeatureName
	// accept waits until the route is accepted, and gives the Gateway's address.
	accept func(t *testing.T, s *suite.ConformanceTestSuite, gateway, route types.NamespacedName) string
	sender func(t *testing.T, s *suite.ConformanceTestSuite, address string) send
}

// send sends a request with header fields, and gives what came back.
type send func(t *testing.T, host, path string, fields map[string]string) (*answer, error)

// answer is which pod answered, and with which header fields.
type answer struct {
	pod    string
	fields http.Header
}

var httpRoute = routeKind{
	name: "HTTPRoute", file: "httproute", feature: features.SupportHTTPRoute, sender: sendHTTP,
	accept: func(t *testing.T, s *suite.ConformanceTestSuite, gateway, route types.NamespacedName) string {
		return kubernetes.GatewayAndHTTPRoutesMustBeAccepted(t, s.Client, s.TimeoutConfig, s.ControllerName,
			kubernetes.NewGatewayRef(gateway), route)
	},
}

var grpcRoute = routeKind{
	name: "GRPCRoute", file: "grpcroute", feature: features.SupportGRPCRoute, sender: sendGRPC,
	accept: func(t *testing.T, s *suite.ConformanceTestSuite, gateway, route types.NamespacedName) string {
		return kubernetes.GatewayAndRoutesMustBeAccepted(t, s.Client, s.TimeoutConfig, s.ControllerName,
			kubernetes.NewGatewayRef(gateway), &v1.GRPCRoute{}, true, route)
	},
}

func sendHTTP(_ *testing.T, s *suite.ConformanceTestSuite, address string) send {
	return func(t *testing.T, host, path string, fields map[string]string) (*answer, error) {
		expected := suitehttp.ExpectedResponse{Request: suitehttp.Request{Host: host, Path: path, Headers: fields}}
		request := suitehttp.MakeRequest(t, &expected, address, "HTTP", "http")
		echoed, got, err := s.RoundTripper.CaptureRoundTrip(request)
		switch {
		case err != nil:
			return nil, err
		case got.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("status %d", got.StatusCode)
		}
		return &answer{pod: echoed.Pod, fields: canonical(got.Headers)}, nil
	}
}

func sendGRPC(_ *testing.T, s *suite.ConformanceTestSuite, address string) send {
	return func(t *testing.T, host, _ string, fields map[string]string) (*answer, error) {
		caller := s.GRPCClient
		if caller == nil {
			own := &suitegrpc.DefaultClient{}
			defer own.Close()
			caller = own
		}
		got, err := caller.SendRPC(t, address, suitegrpc.ExpectedResponse{
			EchoRequest:     &pb.EchoRequest{},
			RequestMetadata: &suitegrpc.RequestMetadata{Authority: host, Metadata: fields},
		}, s.TimeoutConfig.MaxTimeToConsistency)
		switch {
		case err != nil:
			return nil, err
		case got.Code != codes.OK:
			return nil, fmt.Errorf("code %v", got.Code)
		}
		return &answer{pod: got.Response.GetAssertions().GetContext().GetPod(), fields: canonical(*got.Headers)}, nil
	}
}

// canonical gives fields by the names that http.Header looks for.
func canonical(fields map[string][]string) http.Header {
	all := http.Header{}
	for name, values := range fields {
		for _, v := range values {
			all.Add(name, v)
		}
	}
	return all
}

// cookies gives what the answer sets. Backends of the suite set none, so they are the session's.
func (a *answer) cookies(t *testing.T) []*http.Cookie {
	t.Helper()
	all := (&http.Response{Header: a.fields}).Cookies()
	if len(all) == 0 {
		t.Fatal("the answer to a client without a session must set a cookie")
	}
	return all
}

// client sends requests for a route.
type client struct {
	t          *testing.T
	host, path string
	send       send
}

// at gives a client of another path.
func (c *client) at(path string) *client {
	other := *c
	other.path = path
	return &other
}

// call sends a request that must be answered.
func (c *client) call(fields map[string]string) *answer {
	c.t.Helper()
	got, err := c.send(c.t, c.host, c.path, fields)
	if err != nil {
		c.t.Fatal(err)
	}
	return got
}

// begin sends a request without a session.
func (c *client) begin() *answer {
	c.t.Helper()
	return c.call(nil)
}

// beginOn sends requests without a session until a pod with a part in its name answers.
func (c *client) beginOn(part string) *answer {
	c.t.Helper()
	for range 20 * requests {
		if got := c.begin(); strings.Contains(got.pod, part) {
			return got
		}
	}
	c.t.Fatalf("no pod *%s* has answered", part)
	return nil
}

// awaitRoute waits until the route is served, three times in a row.
func (c *client) awaitRoute(limit time.Duration) {
	c.t.Helper()
	err := errors.New("no answer")
	for row, end := 0, time.Now().Add(limit); row < 3; {
		if _, err = c.send(c.t, c.host, c.path, nil); err == nil {
			row++
			continue
		}
		if row = 0; time.Now().After(end) {
			c.t.Fatalf("the route is not served: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// expectSamePod fails unless all requests with the fields come to one pod.
func (c *client) expectSamePod(fields map[string]string) {
	c.t.Helper()
	first := c.call(fields).pod
	for i := range requests {
		if got := c.call(fields).pod; got != first {
			c.t.Fatalf("request %d of a session on %s came to %s", i+1, first, got)
		}
	}
}

// expectManyPods fails if all requests with the fields come to one pod, as those of a session do.
func (c *client) expectManyPods(fields map[string]string) {
	c.t.Helper()
	first := c.call(fields).pod
	for range requests {
		if c.call(fields).pod != first {
			return
		}
	}
	c.t.Fatalf("%d requests without a session all came to %s", requests+1, first)
}

// weights are the backends' weights in the manifests. The backends' names have the same ends for both kinds of routes.
func (c *client) weights() map[string]float64 {
	pod := c.begin().pod
	prefix, _, found := strings.Cut(pod, "-v1-")
	if !found {
		prefix, _, _ = strings.Cut(pod, "-v2-")
	}
	return map[string]float64{prefix + "-v1": 0.7, prefix + "-v2": 0.3}
}
