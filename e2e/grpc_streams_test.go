package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// streamsDocument is a GRPCRoute with a service whose sessions are in a header, and one whose sessions are in a cookie.
const streamsDocument = `
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: streams, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{method: {service: shop.Header}}]
    backendRefs: [{name: pods, port: 80}]
    sessionPersistence: {type: Header, sessionName: x-shop}
  - matches: [{method: {service: shop.Cookie}}]
    backendRefs: [{name: pods, port: 80}]
    sessionPersistence: {sessionName: shop}
`

// callWithin bounds one call.
const callWithin = 2 * time.Minute

// TestGRPCStreams: calls of all four kinds stay with the backend that the first one reached, by metadata and by
// cookie, in the clear and over TLS, and streams are not held back: each message is answered before the next is sent.
func TestGRPCStreams(t *testing.T) {
	t.Parallel()
	var pods []*harness.Backend
	for _, name := range []string{"a", "b", "c"} {
		pods = append(pods, harness.NewGRPCBackend(t, name))
	}
	certificate := harness.NewCertificate(t)
	envoy := harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: pods}}, More: streamsDocument,
		Sites: []harness.Site{{Certificate: certificate}},
	}})
	const sessions = 6
	calls, began := 0, map[string]int{}
	for service, header := range map[string]string{"Header": "x-shop", "Cookie": ""} {
		for range sessions {
			for _, caller := range []*harness.Caller{
				harness.NewCaller(t, envoy.Port, header), harness.NewCaller(t, envoy.TLSPort, header, certificate),
			} {
				home, made := callAll(t, caller, "/shop."+service+"/")
				calls += made
				began[home]++
			}
		}
	}
	wantBalanced(t, began)
	harness.RecordResult(t, "gRPC calls, unary and streaming", harness.Result{
		Requests: calls, Sessions: 4 * sessions, Note: "by metadata and by cookie; in the clear and over TLS",
	})
}

// callAll makes calls of each kind, twice, and gives the backend that answered them all.
func callAll(t *testing.T, caller *harness.Caller, service string) (home string, calls int) {
	t.Helper()
	for round := range 2 {
		for _, method := range []string{"Fail", "Get", "Fill", "List", "Chat"} {
			answered, token := call(t, caller, service+method)
			if calls == 0 {
				home = answered
			}
			if answered != home {
				t.Fatalf("%s%s, round %d: the session began on %s and went on on %s", service, method, round, home, answered)
			}
			if token != (calls == 0) {
				t.Errorf("%s%s, round %d: a token came: %v, and only the first answer needs one", service, method, round, token)
			}
			calls++
		}
	}
	return home, calls
}

// call makes one call and gives the backend that answered it, and whether a token came.
func call(t *testing.T, caller *harness.Caller, method string) (backend string, token bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWithin)
	defer cancel()
	stream, err := caller.Call(ctx, method)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	sent := 1
	if strings.HasSuffix(method, "Fill") || strings.HasSuffix(method, "Chat") {
		sent = 20
	}
	var answers []string
	for i := range sent {
		if err := stream.SendMsg(wrapperspb.String(fmt.Sprint(i))); err != nil {
			t.Fatalf("%s: message %d: %v", method, i, err)
		}
		if strings.HasSuffix(method, "Chat") { // the answer must come before the next message is sent
			answer, _ := receive(t, stream.RecvMsg, method)
			answers = append(answers, answer)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	for more := true; more; {
		var answer string
		if answer, more = receive(t, stream.RecvMsg, method); answer != "" {
			answers = append(answers, answer)
		}
	}
	if token, err = caller.Keep(stream); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return oneBackend(t, method, answers, sent), token
}

// receive gives the next message, and whether there may be more. The status of Fail is its answer, and the last.
func receive(t *testing.T, next func(any) error, method string) (text string, more bool) {
	t.Helper()
	var message wrapperspb.StringValue
	err := next(&message)
	switch {
	case err == nil:
		return message.GetValue(), true
	case errors.Is(err, io.EOF):
		return "", false
	case status.Code(err) == codes.NotFound && strings.HasSuffix(method, "Fail"):
		return status.Convert(err).Message(), false
	default:
		t.Fatalf("%s: %v", method, err)
		return "", false
	}
}

// oneBackend checks the answers to a call and gives the backend that they name.
func oneBackend(t *testing.T, method string, answers []string, sent int) string {
	t.Helper()
	_, kind, _ := strings.Cut(method[1:], "/")
	want := map[string]int{"Fail": 1, "Get": 1, "Fill": 1, "List": 10, "Chat": sent}[kind]
	if len(answers) != want {
		t.Fatalf("%s: %d answers, want %d: %q", method, len(answers), want, answers)
	}
	backend, _, _ := strings.Cut(answers[0], " ")
	for i, answer := range answers {
		name, text, _ := strings.Cut(answer, " ")
		if name != backend || kind == "Chat" && text != fmt.Sprint(i) || kind == "Fill" && text != fmt.Sprint(sent) {
			t.Errorf("%s: answer %d is %q", method, i, answer)
		}
	}
	return backend
}
