package kubernetes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// maxPage is how much of a replica's answer is read.
const maxPage = 64 << 20

// Get gets a page of a replica's --admin, which is at the loopback of its Pod, by a port-forward. Nobody on this
// machine can use that: it leads to no port here.
func (r *Replicas) Get(ctx context.Context, from Replica, path string) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // for connecting heeds no context
		text, err := r.get(ctx, from, path)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer: %w", ctx.Err())
	}
}

func (r *Replicas) get(ctx context.Context, from Replica, path string) ([]byte, error) {
	dialer, err := r.newDialer(from)
	if err != nil {
		return nil, err
	}
	connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, explainForward(from, err)
	}
	defer func() { _ = connection.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	data, failed, err := openStreams(connection, r.Port)
	if err != nil {
		return nil, err
	}
	text, err := request(ctx, data, path)
	if err != nil {
		_ = data.Reset()
		if words, unread := io.ReadAll(failed); unread == nil && len(words) > 0 {
			return nil, errors.New(strings.TrimSpace(string(words)))
		}
	}
	return text, err
}

// newDialer opens port-forwards as kubectl does: by a WebSocket, or by SPDY where the API server or a proxy before it
// takes none.
func (r *Replicas) newDialer(to Replica) (httpstream.Dialer, error) {
	client, err := newClient(r.Config, corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	at := client.
		Post().
		Resource("pods").
		Namespace(to.Namespace).
		Name(to.Name).
		SubResource("portforward").
		URL()
	config := rest.CopyConfig(r.Config)
	config.Timeout = 0 // of a request that has ended when the connection begins
	webSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	plain := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	return portforward.NewFallbackDialerForStreaming(webSocket, plain, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// explainForward names the right that is missing.
func explainForward(to Replica, err error) error {
	// in quotes of quotes
	if text := err.Error(); strings.Contains(text, "forbidden") && strings.Contains(text, "pods/portforward") {
		return fmt.Errorf("the rights to create and to get pods/portforward in the namespace %s are needed", to.Namespace)
	}
	return err
}

// openStreams opens what a port-forward consists of: the bytes of a connection, and words about why there is none.
func openStreams(over httpstream.Connection, port int) (data, failed httpstream.Stream, err error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	if failed, err = over.CreateStream(headers); err != nil {
		return nil, nil, err
	}
	_ = failed.Close() // nothing is written there
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err = over.CreateStream(headers)
	return data, failed, err
}

// request asks for a page.
func request(ctx context.Context, over io.ReadWriter, path string) ([]byte, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+path, nil)
	if err != nil {
		return nil, err
	}
	ask.Close = true
	if err := ask.Write(over); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(over), ask)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("limpet serve answers %s", answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, maxPage))
}
