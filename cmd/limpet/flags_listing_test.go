package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// discovery is what an API server says that has Services and nothing else.
var discovery = map[string]string{
	"/api":    `{"kind": "APIVersions", "versions": ["v1"]}`,
	"/apis":   `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`,
	"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "services", "kind": "Service", "namespaced": true, "verbs": ["list"]}]}`,
}

// TestListsOnceInTime: a command that reads a cluster ends in time where the API server never answers, or does not list its objects. It asks
// for these once.
func TestListsOnceInTime(t *testing.T) {
	if listWithin != 30*time.Second {
		t.Errorf("reading a cluster may take %v, and not the 30 s of docs/operations.md", listWithin)
	}
	whole := listWithin
	listWithin = 200 * time.Millisecond
	defer func() { listWithin = whole }()
	t.Setenv("LIMPET_KEYS", `{"keys":[{"id":"test","secret":"`+testSecret+`"}]}`)
	for _, answers := range []map[string]string{nil, discovery} {
		asked := atomic.Int64{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if text := answers[r.URL.Path]; text != "" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, text)
				return
			}
			asked.Add(1)
			<-r.Context().Done()
		}))
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}", server.URL)
		if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"check"}, {"describe", "httproute/shop/cart"}, {"inspect"}, {"revoke"}, {"ticket", "HTTPRoute/shop/cart/rule/pay"},
		} {
			asked.Store(0)
			root := newRoot()
			root.SetIn(strings.NewReader(""))
			root.SetOut(io.Discard)
			root.SetErr(io.Discard)
			root.SetArgs(append(args, "--kubeconfig", kubeconfig))
			err := root.Execute()
			if want := "the API server " + server.URL + " does not answer: it takes too long"; err == nil || err.Error() != want {
				t.Errorf("limpet %s with %d pages: %v, want %s", args[0], len(answers), err, want)
			}
			if n := asked.Load(); answers != nil && n != 1 {
				t.Errorf("limpet %s asks for Services %d times", args[0], n)
			}
		}
		server.Close()
	}
}
