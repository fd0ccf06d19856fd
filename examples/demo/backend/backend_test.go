package backend_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/examples/demo/backend"
)

// ask sends one request to a backend called "b".
func ask(t *testing.T, target string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header = header
	w := httptest.NewRecorder()
	backend.Handler("b").ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestText(t *testing.T) {
	r := ask(t, "/any/path", nil)
	if got := body(t, r); r.StatusCode != 200 || got != "hello from b\n" {
		t.Errorf("got %d %q", r.StatusCode, got)
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		target string
		header http.Header
	}{
		{"http://shop.example/cart?json", http.Header{"Cookie": {"a=1", "b=2"}}},
		{"http://shop.example/cart?x=1", http.Header{"Accept": {"application/json"}, "X-Other": {"1"}}},
	} {
		var got backend.Echo
		if err := json.Unmarshal([]byte(body(t, ask(t, c.target, c.header))), &got); err != nil {
			t.Fatal(err)
		}
		want := backend.Echo{Backend: "b", Method: "GET", Path: "/cart", Host: "shop.example", Headers: c.header}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.target, got, want)
		}
	}
}

func TestFollowsQueries(t *testing.T) {
	start := time.Now()
	r := ask(t, "/?status=503&delay=30ms", http.Header{backend.SetHeader: {"X-One: 1", "set-cookie: a=b", "Set-Cookie:c=d"}})
	if took := time.Since(start); took < 30*time.Millisecond {
		t.Errorf("took %s, want at least 30ms", took)
	}
	if r.StatusCode != 503 || r.Header.Get("X-One") != "1" {
		t.Errorf("got %d %v", r.StatusCode, r.Header)
	}
	if got := r.Header.Values("Set-Cookie"); !reflect.DeepEqual(got, []string{"a=b", "c=d"}) {
		t.Errorf("Set-Cookie: %q", got)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		target string
		header http.Header
		want   string
	}{
		{"/?status=600", nil, `status "600": must be 200 to 599`},
		{"/?status=ok", nil, `status "ok": must be 200 to 599`},
		{"/?delay=11s", nil, `delay "11s": must be a duration of at most 10s`},
		{"/?delay=-1s", nil, `delay "-1s": must be a duration of at most 10s`},
		{"/", http.Header{backend.SetHeader: {"no colon"}}, `X-Echo-Set-Header "no colon": must be name: value`},
	} {
		r := ask(t, c.target, c.header)
		if got := strings.TrimSpace(body(t, r)); r.StatusCode != 400 || got != c.want {
			t.Errorf("%s: got %d %q, want 400 %q", c.target, r.StatusCode, got, c.want)
		}
	}
}
