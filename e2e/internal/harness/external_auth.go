package harness

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// Allowed is the header of a request that authorization services let through.
const Allowed = "Authorization: Bearer good"

// grants are the headers that authorization services add to requests: their own, and some by which the proxy itself
// works.
var grants = map[string]string{
	"X-User": "alice", "X-Limpet-Pin": "127.0.0.1:1", "X-Envoy-Upstream-Rq-Timeout-Ms": "1",
	"X-Forwarded-For": "192.0.2.1",
}

// Authorizer is an authorization service: it lets requests through that have the header Allowed, and answers 401 to
// others.
type Authorizer struct {
	*Backend
	mu   sync.Mutex
	seen Asked
}

// Asked is a request as it reached an Authorizer, with the names of headers in lower case.
type Asked struct {
	Path, Body string
	Headers    map[string]string
}

// Seen is the last request.
func (a *Authorizer) Seen() Asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

func (a *Authorizer) decide(asked Asked) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = asked
	return asked.Headers["authorization"] == "Bearer good"
}

// NewHTTPAuthorizer starts an Authorizer that speaks HTTP.
func NewHTTPAuthorizer(t testing.TB) *Authorizer {
	t.Helper()
	listener := listenAnywhere(t)
	a := &Authorizer{Backend: &Backend{Name: "authorizer", Address: listener.Addr().String()}}
	server := &http.Server{
		ReadHeaderTimeout: readHeaderTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked := Asked{Path: r.URL.RequestURI(), Body: string(body), Headers: map[string]string{"host": r.Host}}
			for name, values := range r.Header {
				asked.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
			}
			if !a.decide(asked) {
				w.Header().Set("X-Reason", "no token")
				http.Error(w, "denied", http.StatusUnauthorized)
				return
			}
			for name, value := range grants {
				w.Header().Set(name, value)
			}
			_, _ = io.WriteString(w, "let through")
		}),
	}
	a.server = server
	go func() { _ = server.Serve(listener) }() // returns when the listener is closed
	t.Cleanup(a.Close)
	return a
}

// NewGRPCAuthorizer starts an Authorizer that speaks Envoy's gRPC protocol.
func NewGRPCAuthorizer(t testing.TB) *Authorizer {
	t.Helper()
	listener, server := listenAnywhere(t), grpc.NewServer()
	a := &Authorizer{Backend: &Backend{Name: "authorizer", Address: listener.Addr().String(), server: closer(server.Stop)}}
	authv3.RegisterAuthorizationServer(server, a)
	go func() { _ = server.Serve(listener) }() // returns when the server is stopped
	t.Cleanup(a.Close)
	return a
}

// Check implements Envoy's Authorization service.
func (a *Authorizer) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	request := r.GetAttributes().GetRequest().GetHttp()
	if !a.decide(Asked{Path: request.GetPath(), Body: request.GetBody(), Headers: maps.Clone(request.GetHeaders())}) {
		return &authv3.CheckResponse{
			Status: &status.Status{Code: int32(codes.Unauthenticated)},
			HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
				Status: &typev3.HttpStatus{Code: typev3.StatusCode_Unauthorized}, Body: "denied",
				Headers: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-reason", Value: "no token"}}},
			}},
		}, nil
	}
	ok := &authv3.OkHttpResponse{}
	for name, value := range grants {
		ok.Headers = append(
			ok.Headers,
			&corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: strings.ToLower(name), Value: value}},
		)
	}
	return &authv3.CheckResponse{
		Status:       &status.Status{},
		HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: ok},
	}, nil
}
