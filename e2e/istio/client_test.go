package istio

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client sends requests to Envoy and keeps the cookies, Secure or not.
type client struct {
	world *world
	jar   map[string]string
	// header, if it is not empty, carries the token instead.
	header, token string
}

// answer is what came back.
type answer struct {
	status  int
	backend string
	cookie  string // that was set, as name=value
	pin     string // the pin header, which must never come
}

// request is a path with header lines, written name: value.
func (c *client) request(t testing.TB, path string, headers ...string) answer {
	t.Helper()
	a, err := c.try(path, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (c *client) try(path string, headers ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	url := fmt.Sprintf("http://127.0.0.1:%d%s", c.world.port, path)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	r.Host = "shop.example.com"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	for name, value := range c.jar {
		r.Header.Add("Cookie", name+"="+value)
	}
	if c.token != "" {
		r.Header.Set(c.header, c.token)
	}
	response, err := c.world.transport.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a := answer{status: response.StatusCode, backend: string(body), pin: response.Header.Get(pinHeader)}
	if token := response.Header.Get(c.header); c.header != "" && token != "" {
		c.token = token
	}
	if set := response.Header.Get("Set-Cookie"); set != "" {
		a.cookie, _, _ = strings.Cut(set, ";")
		name, value, _ := strings.Cut(a.cookie, "=")
		c.jar[name] = value
	}
	return a, err
}

// newClient is a client without a session.
func (m *world) newClient() *client { return &client{world: m, jar: map[string]string{}} }
