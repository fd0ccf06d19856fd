package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestBudgetOfOneHost: a route for one of two hostnames, which are one virtual host, has them laid out apart, and there is no room for
// that. Its status says which budget lacks it and how much it would take, it answers nothing, and what others' requests get is what they
// got before. Where an older route makes room it is served.
func TestBudgetOfOneHost(t *testing.T) {
	w := newSpeedWorld(t, "--route-budget", "1") // two fifths of it for a Gateway
	if err := w.addService(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	old := func(matches int) string { return crowdedRoute("old", "one.example, two.example", "/old", matches) }
	w.c.set(t, old(60))
	for _, host := range []string{"one.example", "two.example"} {
		eventually(t, "the older route answers at "+host, func() bool { return w.answer(t, host, "/old") == "200 first" })
	}
	w.serving.AwaitAcknowledged(t)
	young := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "young")
	clients := harness.NewClients(t, 4, func(i int) func() (harness.Response, error) {
		client := harness.NewClient(w.port)
		client.Host = []string{"one.example", "two.example"}[i%2]
		return harness.Getter(client, "/old")
	})
	tally := clients.During(func() {
		w.c.set(t, crowdedRoute("young", "one.example", "/young", 1))
		eventually(t, "the youngest route is told that it has no room", func() bool {
			return condition(w.c.get(t, young), "Accepted", "status", "parents") == "False OverBudget"
		})
	})
	if tally.Failed() > 0 {
		t.Errorf("others' requests: %v", tally)
	}
	message, _ := findCondition(w.c.get(t, young), "Accepted", "status", "parents")["message"].(string)
	for _, words := range []string{"its matches come to 0.26", "of the 0.4 MiB of namespace default"} {
		if !strings.Contains(message, words) {
			t.Errorf("its status does not say %q: %s", words, message)
		}
	}
	for at, want := range map[[2]string]string{
		{"one.example", "/old"}: "200 first", {"two.example", "/old"}: "200 first", {"one.example", "/young"}: "404 ",
	} {
		if got := w.answer(t, at[0], at[1]); got != want {
			t.Errorf("%s at %s answers %q, want %q", at[1], at[0], got, want)
		}
	}
	w.c.set(t, old(1))
	eventually(t, "it is served once there is room", func() bool {
		return w.answer(t, "one.example", "/young") == "200 first" && w.answer(t, "two.example", "/young") == "404 " &&
			condition(w.c.get(t, young), "Accepted", "status", "parents") == "True Accepted"
	})
	w.c.remove(t, young)
	w.c.remove(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "old"))
	w.removeServices(t, 1)
}

// answer asks Envoy as a host, and gives the status and who answered as a text.
func (w *speedWorld) answer(t *testing.T, host, path string) string {
	status, backend := w.getPath(t, host, path)
	return fmt.Sprintf("%d %s", status, backend)
}

// crowdedRoute is a route at hostnames whose first match is of a path; the others have a header of 4 kB each, and are for nobody.
func crowdedRoute(name, hosts, path string, matches int) string {
	var text strings.Builder
	fmt.Fprintf(&text, `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: default}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%s]
  rules:
  - backendRefs: [{name: speed-0, port: 80}]
    matches:
    - {path: {value: %s}}
`, name, hosts, path)
	for i := range matches - 1 {
		fmt.Fprintf(&text, "    - {path: {value: %s/%d}, headers: [{name: x, value: %s}]}\n", path, i, strings.Repeat("x", 4000))
	}
	return text.String()
}
