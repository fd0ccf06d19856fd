package envoygateway

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// patience bounds how long a test waits for something that has to happen.
const patience = 5 * time.Minute

// entrance is where the tests' Gateway listens.
const entrance = "127.0.0.1:10080"

// oneShotTransport opens a connection for each request, so that no connection outlives a configuration.
var oneShotTransport = &http.Transport{
	DisableKeepAlives: true,
	DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, entrance)
	},
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	echo   echo
}

// host is the backend that answered, empty for none.
func (a answer) host() string { return a.echo.Host }

// cookie is the session that the answer sets, as a client sends it; empty for none.
func (a answer) cookie() string {
	pair, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	return pair
}

// try sends a request to http://HOST/PATH with headers, name and value in turn.
func try(url string, headers ...string) (answer, error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+url, nil)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := (&http.Client{Transport: oneShotTransport, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	a := answer{status: response.StatusCode, header: response.Header}
	if response.StatusCode == http.StatusOK && err == nil {
		err = json.Unmarshal(text, &a.echo)
	}
	return a, err
}

// get is try for requests that must get an answer.
func get(t *testing.T, url string, headers ...string) answer {
	t.Helper()
	a, err := try(url, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// tally sends a request many times and counts the hosts that answered; statuses other than 200 count under their numbers.
func tally(t *testing.T, times int, url string, headers ...string) map[string]int {
	t.Helper()
	hosts := map[string]int{}
	for range times {
		a := get(t, url, headers...)
		if a.status == http.StatusOK {
			hosts[a.host()]++
		} else {
			hosts[http.StatusText(a.status)]++
		}
	}
	return hosts
}

// manyTries is enough requests for a host with a fair share of two to be missed once in 2^40.
const manyTries = 40

// session opens a session and gives its cookie and host.
func session(t *testing.T, url string) (cookie, host string) {
	t.Helper()
	a := get(t, url)
	if a.status != http.StatusOK || a.cookie() == "" {
		t.Fatalf("%s: status %d, Set-Cookie %q: no session", url, a.status, a.header.Values("Set-Cookie"))
	}
	return a.cookie(), a.host()
}

// sessionOn opens sessions until one is on the host.
func sessionOn(t *testing.T, url, host string) string {
	t.Helper()
	for range 200 {
		if cookie, on := session(t, url); on == host {
			return cookie
		}
	}
	t.Fatalf("%s: no session on %s in 200", url, host)
	return ""
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within %v: %s", patience, what)
}
