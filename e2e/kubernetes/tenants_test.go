package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// served gives what a Gateway's proxies are served, as the admin port shows it.
func served(t *testing.T, s *harness.Serving, gateway string) map[string]map[string]any {
	t.Helper()
	response, err := http.Get("http://" + harness.Loopback(s.AdminPort) + "/config?gateway=" + gateway)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return nil // not yet
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	all := map[string]map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for kind, raw := range fields {
		var named map[string]any
		if json.Unmarshal(raw, &named) == nil {
			all[kind] = named
		}
	}
	return all
}

// TestHostileTenant: a namespace's objects name another one's Secret, are as large as an API server takes, and are thousands. It gets no
// key that is not its own, and what others change is live meanwhile as it is without that.
func TestHostileTenant(t *testing.T) {
	w := newSpeedWorld(t)
	folder := t.TempDir()
	harness.NewAuthority(t).Issue(t, folder, "edge", "mine.example", "")
	w.c.set(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: mine, namespace: default}\ntype: kubernetes.io/tls\nstringData:\n  tls.crt: %q\n  tls.key: %q\n",
		readFile(t, folder+"/edge.crt"), readFile(t, folder+"/edge.key")))
	w.c.set(t, `
apiVersion: v1
kind: Namespace
metadata: {name: hostile}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: hostile}
spec:
  gatewayClassName: limpet
  listeners:
  - {name: http, protocol: HTTP, port: 8000}
  - {name: https, protocol: HTTPS, port: 8443, tls: {certificateRefs: [{name: mine, namespace: default}]}}
`)
	hostile := object("gateway.networking.k8s.io/v1", "Gateway", "hostile", "edge")
	eventually(t, "the reference is refused", func() bool {
		return strings.HasPrefix(condition(w.c.get(t, hostile), "ResolvedRefs", "status", "listeners"), "True") &&
			strings.Contains(fmt.Sprint(w.c.get(t, hostile).Object["status"]), "RefNotPermitted")
	})
	if all := served(t, w.serving, "hostile/edge"); all == nil {
		t.Error("nothing is served for the hostile Gateway")
	} else if secrets := all["secrets"]; len(secrets) > 0 {
		t.Errorf("another namespace's Secret is served: %v", secrets)
	}

	if err := w.addService(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	alone := w.probe(t, 200_000, 20)
	w.addLarge(t)
	n := harness.Size(500, 10_000)
	probes := make(chan []time.Duration)
	go func() { probes <- w.probe(t, 200_100, 20) }()
	resource, err := w.c.resourceOf(object("gateway.networking.k8s.io/v1", "HTTPRoute", "hostile", ""))
	if err != nil {
		t.Fatal(err)
	}
	w.each(t, n, func(ctx context.Context, i int) error {
		text := strings.ReplaceAll(routeText(fmt.Sprintf("flood-%d", i), hostOf(i), "nowhere"), "namespace: default", "namespace: hostile")
		return createText(ctx, resource, text)
	})
	meanwhile := <-probes
	after := w.probe(t, 200_200, 20)
	fmt.Printf("tenants: another's new route is live: alone %s; while one makes %d routes %s; afterwards %s\n",
		quantiles(alone), n, quantiles(meanwhile), quantiles(after))
	if worst := meanwhile[len(meanwhile)-1]; worst > 10*time.Second {
		t.Errorf("another's route took %v", worst)
	}
	w.each(t, n, func(ctx context.Context, i int) error {
		return resource.Delete(ctx, fmt.Sprintf("flood-%d", i), metav1.DeleteOptions{})
	})
	w.c.remove(t, hostile)
	w.removeServices(t, 1)
}

// addLarge adds objects of about a megabyte, of kinds that limpet reads.
func (w *speedWorld) addLarge(t *testing.T) {
	large := strings.Repeat("x", 1_000_000)
	w.c.set(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: large, namespace: hostile}\ntype: kubernetes.io/tls\nstringData: {tls.crt: %s, tls.key: x}\n", large))
	w.c.set(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large, namespace: hostile}\ndata: {ca.crt: %s}\n", large))
	matches := strings.Repeat(fmt.Sprintf("{path: {value: /%s}}, ", strings.Repeat("p", 1000)), 63) + "{path: {value: /}}"
	rule := "{matches: [" + matches + "], backendRefs: [{name: nowhere, port: 80}]}"
	w.c.set(t, fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: large, namespace: hostile}\nspec: {parentRefs: [{name: edge}], rules: [%s]}\n", rule))
}
