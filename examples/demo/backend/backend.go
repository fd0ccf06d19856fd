// Package backend is the small HTTP server that stands behind Envoy in the quick start and in the tests.
// It says who it is and what it was sent, and does what it is told.
package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxDelay is the longest that a request can ask a backend to wait.
const MaxDelay = 10 * time.Second

// SetHeader is the request header "X-Echo-Set-Header: name: value", which may be repeated:
// the response carries these headers.
const SetHeader = "X-Echo-Set-Header"

// Echo is the JSON answer: what the backend received.
type Echo struct {
	// Backend is the backend's name.
	Backend string `json:"backend"`
	// Method, Path and Host are the request's, the path without the query.
	Method string `json:"method"`
	Path   string `json:"path"`
	Host   string `json:"host"`
	// Headers are all headers of the request but Host, under their canonical names.
	Headers http.Header `json:"headers"`
}

// Handler is the backend called name. It answers every request with one line, "hello from NAME", or with an
// Echo where the request has "Accept: application/json" or the query parameter json. The request may ask for more:
//
//	?status=503                      answer this status, 200 to 599
//	?delay=1s                        wait first, at most MaxDelay
//	X-Echo-Set-Header: name: value   send this header
//
// What it cannot do it answers with 400 and the reason.
func Handler(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := prepare(w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if wantsJSON(r) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(Echo{name, r.Method, r.URL.Path, r.Host, r.Header})
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "hello from %s\n", name)
	})
}

// prepare does what the request asks for and returns the status to answer.
func prepare(w http.ResponseWriter, r *http.Request) (status int, err error) {
	query := r.URL.Query()
	status = http.StatusOK
	if s := query.Get("status"); s != "" {
		if status, err = strconv.Atoi(s); err != nil || status < 200 || status > 599 {
			return 0, fmt.Errorf("status %q: must be 200 to 599", s)
		}
	}
	if err := setHeaders(w.Header(), r.Header.Values(SetHeader)); err != nil {
		return 0, err
	}
	return status, wait(r, query.Get("delay"))
}

// setHeaders adds the headers that the request asks for.
func setHeaders(h http.Header, lines []string) error {
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			return fmt.Errorf("%s %q: must be name: value", SetHeader, line)
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return nil
}

// wait waits as long as the request asks, or until its client has gone.
func wait(r *http.Request, delay string) error {
	if delay == "" {
		return nil
	}
	d, err := time.ParseDuration(delay)
	if err != nil || d < 0 || d > MaxDelay {
		return fmt.Errorf("delay %q: must be a duration of at most %s", delay, MaxDelay)
	}
	select {
	case <-time.After(d):
		return nil
	case <-r.Context().Done():
		return errors.New("the client has gone")
	}
}

// wantsJSON tells which of the two answers the client asked for.
func wantsJSON(r *http.Request) bool {
	return r.URL.Query().Has("json") || strings.Contains(r.Header.Get("Accept"), "application/json")
}
