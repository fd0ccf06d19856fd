package harness

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Client sends requests to one Envoy. Requests of one client come one after another.
type Client struct {
	// Jar keeps the client's cookies; nil sends none and keeps none.
	Jar *Jar
	// Host is the Host header; empty sends the address.
	Host string

	base string
	http *http.Client
}

// Response is an answer with its body read.
type Response struct {
	// Status is the status code.
	Status int
	// Header are the headers as they came.
	Header http.Header
	// Backend is the name of the backend that answered, empty when Envoy itself did.
	Backend string
	// Seen is what reached the backend; empty when Envoy answered, or the backend was asked to be quiet.
	Seen Seen
	// Body is the body as it came.
	Body string
}

// NewClient returns a client with a cookie jar for an Envoy's listener on 127.0.0.1.
func NewClient(port int) *Client { return NewClientAt(Loopback(port)) }

// NewClientAt is NewClient for an address.
func NewClientAt(address string) *Client {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4}
	return &Client{
		Jar:  &Jar{},
		base: "http://" + address,
		http: &http.Client{
			Transport:     transport,
			Timeout:       60 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Leave closes the client's connections.
func (c *Client) Leave() { c.http.CloseIdleConnections() }

// Get sends a GET. Headers are written "Name: value"; names are sent in the case given, and one that
// comes twice is sent on two lines.
func (c *Client) Get(t testing.TB, path string, headers ...string) Response {
	t.Helper()
	return c.Do(t, http.MethodGet, path, headers...)
}

// Do sends a request without a body; see Get.
func (c *Client) Do(t testing.TB, method, path string, headers ...string) Response {
	t.Helper()
	response, err := c.Try(method, path, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return response
}

// Try is Do for callers that expect the connection to fail.
func (c *Client) Try(method, path string, headers ...string) (Response, error) {
	request, err := http.NewRequest(method, c.base+path, nil)
	if err != nil {
		return Response{}, err
	}
	request.Host = c.Host
	if c.Jar != nil {
		if pairs := c.Jar.Header(request.URL.Path); pairs != "" {
			request.Header["Cookie"] = []string{pairs}
		}
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		request.Header[name] = append(request.Header[name], strings.TrimSpace(value))
	}
	return c.send(request)
}

func (c *Client) send(request *http.Request) (Response, error) {
	answer, err := c.http.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return Response{}, err
	}
	if c.Jar != nil {
		c.Jar.Set(request.URL.Path, answer.Cookies())
	}
	response := Response{
		Status:  answer.StatusCode,
		Header:  answer.Header,
		Backend: answer.Header.Get(BackendHeader),
		Body:    string(body),
	}
	if response.Backend != "" && len(body) > 0 {
		err = json.Unmarshal(body, &response.Seen)
	}
	return response, err
}

// Cookie returns the one Set-Cookie of that name, or nil; several of one name are an error.
func (r Response) Cookie(t testing.TB, name string) *http.Cookie {
	t.Helper()
	var found []*http.Cookie
	for _, line := range r.Header["Set-Cookie"] {
		cookie, err := http.ParseSetCookie(line)
		if err != nil {
			t.Fatalf("Set-Cookie: %q: %v", line, err)
		}
		if cookie.Name == name {
			found = append(found, cookie)
		}
	}
	if len(found) > 1 {
		t.Fatalf("%d Set-Cookie headers for %q: %q", len(found), name, r.Header["Set-Cookie"])
	}
	if len(found) == 0 {
		return nil
	}
	return found[0]
}
