package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestServedKinds: the versions of the kinds that limpet reads are asked for where the API server has them, and no others. A group whose own
// server does not answer is left out, and any other failure is one, as is the core group's.
func TestServedKinds(t *testing.T) {
	pages := map[string]string{
		"/apis": `{"groups": [
			{"name": "gateway.networking.k8s.io", "versions": [{"groupVersion": "gateway.networking.k8s.io/v1", "version": "v1"}]},
			{"name": "discovery.k8s.io", "versions": [{"groupVersion": "discovery.k8s.io/v1", "version": "v1"}]},
			{"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]}]}`,
		"/api/v1":                            `{"resources": [{"name": "services", "kind": "Service", "namespaced": true}, {"name": "services/status", "kind": "Service"}]}`,
		"/apis/gateway.networking.k8s.io/v1": `{"resources": [{"name": "gatewayclasses", "kind": "GatewayClass"}]}`,
	}
	missing := http.StatusServiceUnavailable
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		if pages[r.URL.Path] == "" {
			w.WriteHeader(missing)
		}
		_, _ = io.WriteString(w, pages[r.URL.Path])
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1}
	served, err := listServed(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	close(asked)
	var got, kinds []string
	for path := range asked {
		got = append(got, path)
	}
	for kind, at := range served {
		kinds = append(kinds, fmt.Sprint(kind.Kind, " ", at.Group, " ", at.Version, " ", at.Resource, " ", at.namespaced))
	}
	slices.Sort(got)
	slices.Sort(kinds)
	if want := []string{"/api/v1", "/apis", "/apis/discovery.k8s.io/v1", "/apis/gateway.networking.k8s.io/v1"}; !slices.Equal(got, want) {
		t.Errorf("it asks for %q", got)
	}
	if want := []string{"GatewayClass gateway.networking.k8s.io v1 gatewayclasses false", "Service  v1 services true"}; !slices.Equal(kinds, want) {
		t.Errorf("it finds %q", kinds)
	}
	asked, missing = make(chan string, 10), http.StatusForbidden
	if _, err := listServed(t.Context(), config); err == nil {
		t.Error("a refused page is none")
	}
	asked, missing, pages["/api/v1"] = make(chan string, 10), http.StatusServiceUnavailable, ""
	if _, err := listServed(t.Context(), config); err == nil || !strings.HasPrefix(err.Error(), "/api/v1: ") {
		t.Errorf("without the core group: %v", err)
	}
}
