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
		kubeconfig := writeKubeconfig(t, server.URL)
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

// writeKubeconfig writes how to reach an API server.
func writeKubeconfig(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}", url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNamesMissingOptions: where no limpet serve answers, a line says whose options it are instead. With the proxies of others, which no
// limpet serve has, nothing is missing.
func TestNamesMissingOptions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := discovery[r.URL.Path]
		if text == "" {
			text = `{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}`
		}
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	const none = "no Pod in the namespace limpet-system has the labels of limpet's chart"
	for target, want := range map[string]string{
		"envoy":         "; the options and the memory of 'limpet serve' are not known here: ",
		"istio":         " by the options of this command line, which should be those of 'limpet compile -t istio'; no 'limpet serve' says others: ",
		"envoy-gateway": " by the options of this command line, which should be those of 'limpet compile -t envoy-gateway'; no 'limpet serve' says others: ",
	} {
		root, stderr := newRoot(), &strings.Builder{}
		root.SetOut(io.Discard)
		root.SetErr(stderr)
		root.SetArgs([]string{"check", "--kubeconfig", writeKubeconfig(t, server.URL), "-t", target})
		if err := root.Execute(); err != nil || !strings.Contains(stderr.String(), "objects of "+server.URL+want+none) {
			t.Errorf("%s: %v, and it says\n%s", target, err, stderr)
		}
	}
}
