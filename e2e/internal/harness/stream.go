package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// NewStreamer starts a backend that answers with a handler of the test's own, after it has put its name into the
// response's header. It speaks HTTP/1.1, or HTTP/2 with prior knowledge and nothing else.
func NewStreamer(t testing.TB, name string, http2 bool, handler http.Handler) *Backend {
	t.Helper()
	listener := listenAnywhere(t)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(!http2)
	server.Protocols.SetUnencryptedHTTP2(http2)
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(BackendHeader, name)
		handler.ServeHTTP(w, r)
	})
	b := &Backend{Name: name, Address: listener.Addr().String(), names: map[string]bool{}, server: server}
	go func() { _ = server.Serve(listener) }() // returns when the listener is closed
	t.Cleanup(b.Close)
	return b
}

// Open sends a request and returns when the response's headers are there; the body is the caller's to read and to
// close. Cookies are sent and kept as with Get.
func (c *Client) Open(
	ctx context.Context,
	method, path string,
	body io.Reader,
	headers ...string,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	request.Host = c.Host
	if pairs := c.Jar.Header(request.URL.Path); pairs != "" {
		request.Header.Set("Cookie", pairs)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		request.Header.Add(name, strings.TrimSpace(value))
	}
	return c.OpenRequest(request)
}

// OpenRequest is Open for a request that is complete.
func (c *Client) OpenRequest(request *http.Request) (*http.Response, error) {
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	c.Jar.Set(request.URL.Path, response.Cookies())
	if response.StatusCode/100 != 2 {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s %s: status %d", request.Method, request.URL.Path, response.StatusCode)
	}
	return response, nil
}

// URL is where the client finds a path.
func (c *Client) URL(path string) string { return c.base + path }

// HTTP is what the client sends its requests with.
func (c *Client) HTTP() *http.Client { return c.http }
