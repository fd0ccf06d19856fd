package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// NewGRPCBackend starts a gRPC server that ends with the test. It serves every service, with these methods, whose
// messages are strings and whose answers begin with the backend's name:
//
//	Get    unary
//	Fail   unary, with the status NOT_FOUND, which is an answer too
//	Fill   takes a stream, and answers with the number of messages
//	List   answers with ten messages
//	Chat   answers each message as it comes
//
// It also serves grpc.health.v1.Health, of the server as a whole and of shop.Cart.
func NewGRPCBackend(t testing.TB, name string) *Backend {
	t.Helper()
	listener := listenAnywhere(t)
	server := grpc.NewServer(
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return serveCall(name, stream) }),
	)
	healthy := health.NewServer()
	healthy.SetServingStatus("shop.Cart", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, healthy)
	go func() { _ = server.Serve(listener) }() // returns when the server is stopped
	b := &Backend{
		Name: name, Address: listener.Addr().String(), names: map[string]bool{}, server: closer(server.Stop), health: healthy,
	}
	t.Cleanup(b.Close)
	return b
}

type closer func()

func (c closer) Close() error { c(); return nil }

func serveCall(name string, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	answer := func(text string) error { return stream.SendMsg(wrapperspb.String(name + text)) }
	switch method = path.Base(method); method {
	case "Get", "Fail", "List":
		if err := stream.RecvMsg(&wrapperspb.StringValue{}); err != nil {
			return err
		}
		if method == "Fail" {
			return status.Error(codes.NotFound, name)
		}
		for i := 1; method == "List" && i < 10; i++ {
			if err := answer(""); err != nil {
				return err
			}
		}
		return answer("")
	case "Fill", "Chat":
		return serveMessages(stream, method, answer)
	default:
		return status.Error(codes.Unimplemented, method)
	}
}

// serveMessages takes messages until there are no more: Chat answers each, Fill says how many there were.
func serveMessages(stream grpc.ServerStream, method string, answer func(string) error) error {
	for count := 0; ; count++ {
		var message wrapperspb.StringValue
		err := stream.RecvMsg(&message)
		switch {
		case errors.Is(err, io.EOF) && method == "Fill":
			return answer(fmt.Sprint(" ", count))
		case errors.Is(err, io.EOF):
			return nil
		case err == nil && method == "Chat":
			err = answer(" " + message.GetValue())
		}
		if err != nil {
			return err
		}
	}
}

// Caller makes gRPC calls through an Envoy, over one connection, as one session: a token that comes with an answer
// goes with the next call.
type Caller struct {
	// Header is the session's header; empty for a cookie.
	Header string

	conn  *grpc.ClientConn
	token metadata.MD
}

// NewCaller makes a caller for a port of 127.0.0.1, over TLS where it is given a certificate to trust.
func NewCaller(t testing.TB, port int, header string, trusted ...Certificate) *Caller {
	t.Helper()
	security := insecure.NewCredentials()
	for _, c := range trusted {
		security = credentials.NewTLS(&tls.Config{RootCAs: c.pool(), MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient("passthrough:///"+Loopback(port), grpc.WithTransportCredentials(security))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Caller{Header: header, conn: conn, token: metadata.MD{}}
}

// Call begins a call of any kind. Its end is that of the context.
func (c *Caller) Call(ctx context.Context, method string) (grpc.ClientStream, error) {
	kind := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	return c.conn.NewStream(metadata.NewOutgoingContext(ctx, c.token.Copy()), kind, method)
}

// Keep takes the token over that came with an answer, in its header or, where the answer is nothing but a status, in
// its trailer. It tells whether there was one.
func (c *Caller) Keep(stream grpc.ClientStream) (bool, error) {
	header, err := stream.Header()
	if err != nil && status.Code(err) != codes.NotFound {
		return false, err
	}
	for _, md := range []metadata.MD{header, stream.Trailer()} {
		if values := md.Get(c.Header); c.Header != "" && len(values) > 0 {
			c.token.Set(c.Header, values[0])
			return true, nil
		}
		for _, line := range md.Get("set-cookie") {
			cookie, err := http.ParseSetCookie(line)
			if err != nil {
				return false, err
			}
			c.token.Set("cookie", cookie.Name+"="+cookie.Value)
			return true, nil
		}
	}
	return false, nil
}
