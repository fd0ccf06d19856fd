package inputfiles

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// TestURLs holds how a URL is read: in limited time and size, again where the server has trouble, and without telling its password.
func TestURLs(t *testing.T) {
	fetchPause = 0
	t.Cleanup(func() { fetchTimeout, fetchPause = 30*time.Second, time.Second })
	asked := map[string]int{}
	mux := http.NewServeMux()
	answer := func(path string, handle func(w http.ResponseWriter)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			asked[path]++
			handle(w)
		})
	}
	answer("/good.yaml", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "a: b") })
	answer("/gone.yaml", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) })
	answer("/busy.yaml", func(w http.ResponseWriter) {
		if asked["/busy.yaml"] < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	answer("/down.yaml", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
	done := make(chan struct{})
	answer("/slow.yaml", func(http.ResponseWriter) { <-done })
	answer("/endless.yaml", func(w http.ResponseWriter) { _, _ = io.Copy(w, io.LimitReader(endless{}, 2*read.MaxFile)) })
	answer("/loop.yaml", func(w http.ResponseWriter) {
		w.Header().Set("Location", "/loop.yaml")
		w.WriteHeader(http.StatusFound)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	secret := strings.Replace(server.URL, "http://", "http://me:hush@", 1)
	for path, want := range map[string]struct {
		size  int
		error string
		asked int
	}{
		"/good.yaml":    {4, "", 1},
		"/busy.yaml":    {0, "", 3},
		"/gone.yaml":    {0, "/gone.yaml: the server answers 404 Not Found", 1},
		"/down.yaml":    {0, "/down.yaml: the server answers 502 Bad Gateway", fetchTries},
		"/slow.yaml":    {0, "/slow.yaml: it takes too long", 1},
		"/endless.yaml": {read.MaxFile + 1, "", 1},
		"/loop.yaml":    {0, "/loop.yaml: more than 10 redirects", 10},
	} {
		fetchTimeout = 5 * time.Minute
		if path == "/slow.yaml" {
			fetchTimeout = 300 * time.Millisecond
		}
		sources, err := Read([]string{secret + path}, nil)
		size := 0
		for _, s := range sources {
			size += len(s.Data)
			if strings.Contains(s.Name, "hush") || !strings.HasSuffix(s.Name, path) {
				t.Errorf("%s: called %s", path, s.Name)
			}
		}
		switch {
		case want.error == "" && (err != nil || len(sources) != 1 || size != want.size):
			t.Errorf("%s: %d bytes, %v", path, size, err)
		case want.error != "" && (err == nil || !strings.Contains(err.Error(), want.error) || strings.Contains(err.Error(), "hush")):
			t.Errorf("%s: %v", path, err)
		}
		if early := path == "/slow.yaml" && asked[path] == 0; asked[path] != want.asked && !early { // busy machines do not get to ask
			t.Errorf("%s: asked %d times", path, asked[path])
		}
	}
	if _, err := Read([]string{"https://hush:%zz@x"}, nil); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
}

// TestURLsStayWithTLS holds that what was asked for by TLS does not come without.
func TestURLsStayWithTLS(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a: b") }))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(secure.Close)
	trusted := fetcher.Transport
	fetcher.Transport = secure.Client().Transport
	t.Cleanup(func() { fetcher.Transport = trusted })
	_, err := Read([]string{secure.URL + "/a.yaml"}, nil)
	if err == nil || !strings.Contains(err.Error(), "the server redirects from https to http") {
		t.Errorf("got %v", err)
	}
}
