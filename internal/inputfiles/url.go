package inputfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/internal/message"
)

// How a URL is read: as kubectl does it, but for the limits of time and size. A server that has trouble is asked again.
const (
	fetchTries   = 3
	maxRedirects = 10
)

// fetchTimeout bounds each try, and fetchPause is the time between two.
var fetchTimeout, fetchPause = 30 * time.Second, time.Second

// IsURL reports whether a path is one that is fetched.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// fetcher refuses to go from TLS to plain HTTP.
var fetcher = &http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
	switch {
	case len(before) >= maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case before[0].URL.Scheme == "https" && next.URL.Scheme != "https":
		return errors.New("the server redirects from https to http")
	}
	return nil
}}

// addURL reads what a URL has. Messages don't show the password in it.
func (r *reader) addURL(path string) error {
	at, err := url.Parse(path)
	if err != nil || at.Host == "" {
		// whose parts may be secret
		return errors.New("a URL that is none: it must be http:// or https://, a host and a path")
	}
	name := at.Redacted()
	for try := 1; ; try++ {
		again, err := r.fetch(path, name)
		if err == nil || !again || try == fetchTries {
			return err
		}
		time.Sleep(fetchPause)
	}
}

// fetch asks for the URL once, and tells whether to ask again.
func (r *reader) fetch(path, name string) (again bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return false, fmt.Errorf("%s: can't be asked for", name)
	}
	response, err := fetcher.Do(request)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, message.Unanswered(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return response.StatusCode >= 500, fmt.Errorf("%s: the server answers %s", name, response.Status)
	}
	return false, r.add(name, io.Reader(response.Body))
}
