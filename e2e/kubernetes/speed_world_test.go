package kubernetes

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// speedWorld is a Gateway whose routes come and go by the thousand. Each has a hostname, a Service and an EndpointSlice of its own.
type speedWorld struct {
	c      *cluster
	port   int
	client *http.Client
	routes, services,
	slices dynamic.ResourceInterface
	writes  atomic.Int64 // of the Gateway
	serving *harness.Serving
	envoy   *harness.Envoy
	odd     bool // of a Service whose pod is another again and again
	// shared is how many routes each host has of so many in all; none is a host for each.
	shared, of int
}

func newSpeedWorld(t *testing.T, flags ...string) *speedWorld {
	c := startCluster(t)
	w := &speedWorld{c: c, port: harness.FreePort(t), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	for name, port := range map[string]int{"first": firstPort, "second": secondPort} {
		harness.NewBackendAt(t, name, fmt.Sprintf("0.0.0.0:%d", port))
	}
	// Without its route: one for all hosts meets every other, and they are all compiled together then.
	objects, route, _ := strings.Cut(shopAt(w.port), "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute")
	c.set(t, objects)
	if cart := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "cart"); route != "" && c.get(t, cart) != nil {
		c.remove(t, cart)
	}
	for _, one := range []struct {
		to            *dynamic.ResourceInterface
		version, kind string
	}{
		{&w.routes, "gateway.networking.k8s.io/v1", "HTTPRoute"}, {&w.services, "v1", "Service"}, {&w.slices, "discovery.k8s.io/v1", "EndpointSlice"},
	} {
		resource, err := c.resourceOf(object(one.version, one.kind, "default", ""))
		if err != nil {
			t.Fatal(err)
		}
		*one.to = resource
	}
	w.serving = harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), w.port, harness.NewRing("k"), append([]string{"--system-namespace", "default"}, flags...)...)
	w.envoy = w.serving.Bootstrap(t).Start(t)
	w.serving.AwaitAcknowledged(t)
	w.countWrites(t)
	return w
}

// countWrites counts the changes of the Gateway, which nothing but limpet makes.
func (w *speedWorld) countWrites(t *testing.T) {
	gateways, err := w.c.resourceOf(object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge"))
	if err != nil {
		t.Fatal(err)
	}
	watching, err := gateways.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=edge"})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for e := range watching.ResultChan() {
			if e.Type == "MODIFIED" {
				w.writes.Add(1)
			}
		}
	}()
}

// make creates, changes or deletes objects, several at a time.
func (w *speedWorld) each(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	var next, failed atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed.Load() == 0; i = int(next.Add(1)) - 1 {
				if err := do(t.Context(), i); err != nil {
					failed.Add(1)
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if failed.Load() > 0 {
		t.FailNow()
	}
}

// createText creates the object of a text.
func createText(ctx context.Context, to dynamic.ResourceInterface, text string) error {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		return err
	}
	_, err := to.Create(ctx, o, metav1.CreateOptions{})
	return err
}

// updateText makes the object of a text of the one that is there.
func updateText(ctx context.Context, in dynamic.ResourceInterface, text string) error {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		return err
	}
	_, err := in.Update(ctx, o, metav1.UpdateOptions{})
	return err
}

func hostOf(i int) string { return fmt.Sprintf("h%d.speed.example", i) }

func routeText(name, host, service string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: default}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%s]
  rules: [{backendRefs: [{name: %s, port: 80}]}]
`, name, host, service)
}

func endpointsText(i, endpoints, port int) string {
	text := fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: speed-%d, namespace: default, labels: {kubernetes.io/service-name: speed-%d}}
addressType: IPv4
ports: [{port: %d}]
endpoints:
`, i, i, port)
	for e := range endpoints {
		n := i*endpoints + e
		text += fmt.Sprintf("- {addresses: [10.244.%d.%d], conditions: {ready: true}}\n", 16+n/250%200, 1+n%250)
	}
	return text
}

// addService makes the Service of a route, with so many endpoints.
func (w *speedWorld) addService(ctx context.Context, i, endpoints int) error {
	text := fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: speed-%d, namespace: default}\nspec: {clusterIP: None, ports: [{port: 80}]}\n", i)
	if err := createText(ctx, w.services, text); err != nil {
		return err
	}
	return createText(ctx, w.slices, endpointsText(i, endpoints, firstPort))
}

func (w *speedWorld) addRoute(ctx context.Context, i int, service string) error {
	host, path := w.place(i)
	text := routeText(fmt.Sprintf("speed-%d", i), host, service)
	return createText(ctx, w.routes, strings.Replace(text, "rules: [{", fmt.Sprintf("rules: [{matches: [{path: {value: %s}}], ", path), 1))
}

// place is where a route is.
func (w *speedWorld) place(i int) (host, path string) {
	if w.shared < 2 {
		return hostOf(i), "/"
	}
	return hostOf(i % w.of / w.shared), fmt.Sprintf("/r%d", i)
}

func (w *speedWorld) removeRoute(ctx context.Context, i int) error {
	return w.routes.Delete(ctx, fmt.Sprintf("speed-%d", i), metav1.DeleteOptions{})
}

// get asks Envoy as a host, and gives the status and who answered.
func (w *speedWorld) get(t *testing.T, host string) (status int, backend string) {
	return w.getPath(t, host, "/")
}

func (w *speedWorld) getPath(t *testing.T, host, path string) (status int, backend string) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort("127.0.0.1", fmt.Sprint(w.port))+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := w.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header.Get("X-Backend")
}

// attached waits until the Gateway says that it has so many routes, besides those that were there.
func (w *speedWorld) attached(t *testing.T, want int64) {
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		listeners, _, _ := unstructured.NestedSlice(w.c.get(t, gateway).Object, "status", "listeners")
		if len(listeners) == 1 && listeners[0].(map[string]any)["attachedRoutes"] == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the Gateway does not say that it has %d routes: %v", want, listeners)
		}
	}
}

func (w *speedWorld) countAttached(t *testing.T) int64 {
	listeners, _, _ := unstructured.NestedSlice(w.c.get(t, object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")).Object, "status", "listeners")
	if len(listeners) == 0 {
		return 0
	}
	return listeners[0].(map[string]any)["attachedRoutes"].(int64)
}

// countRoutesWithStatus counts the routes of which limpet has said what became.
func (w *speedWorld) countRoutesWithStatus(t *testing.T) (count int) {
	t.Helper()
	all, err := w.routes.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all.Items {
		if parents, _, _ := unstructured.NestedSlice(o.Object, "status", "parents"); len(parents) > 0 {
			count++
		}
	}
	return count
}

// probe adds routes one after the other, and measures from before the object is written until it answers.
func (w *speedWorld) probe(t *testing.T, from, n int) (took []time.Duration) {
	for i := from; i < from+n; i++ {
		begun := time.Now()
		host, path := w.place(i)
		if err := w.addRoute(t.Context(), i, "speed-0"); err != nil {
			t.Fatal(err)
		}
		for status := 0; status != http.StatusOK; time.Sleep(2 * time.Millisecond) {
			if status, _ = w.getPath(t, host, path); status >= 500 {
				t.Errorf("a new route answers %d", status)
			}
		}
		took = append(took, time.Since(begun))
	}
	w.each(t, n, func(ctx context.Context, i int) error { return w.removeRoute(ctx, from+i) })
	return took
}

// churn changes routes, so many a second, until it is stopped.
func (w *speedWorld) churn(t *testing.T, routes int) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for i := 1; ctx.Err() == nil; i++ {
			<-tick.C
			_, path := w.place(i * 7919 % routes)
			patch := fmt.Sprintf(`[{"op":"add","path":"/spec/rules/0/matches","value":[{"path":{"value":%q}},{"path":{"value":"/v%d"}}]}]`, path, i)
			_, err := w.routes.Patch(ctx, fmt.Sprintf("speed-%d", i*7919%routes), "application/json-patch+json", []byte(patch), metav1.PatchOptions{})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

// moveEndpoints has Services' pods change, one after the other, and measures until the new ones answer.
func (w *speedWorld) moveEndpoints(t *testing.T, n, endpoints int) (took []time.Duration) {
	for i := range n {
		took = append(took, w.moveService(t, endpointsText(i, endpoints, secondPort), hostOf(i), "second"))
	}
	return took
}

// moveService has a Service's pods be those of the text of its slice, and measures from before that is written until they answer.
func (w *speedWorld) moveService(t *testing.T, text, host, backend string) time.Duration {
	t.Helper()
	begun := time.Now()
	if err := updateText(t.Context(), w.slices, text); err != nil {
		t.Fatal(err)
	}
	for answers := ""; answers != backend; time.Sleep(2 * time.Millisecond) {
		_, answers = w.get(t, host)
	}
	return time.Since(begun)
}

// cost gives what limpet holds and, over a time in which nothing happens, what it works.
func (w *speedWorld) cost(t *testing.T, over time.Duration) string {
	time.Sleep(harness.Size(time.Second, 20*time.Second)) // for what there was to do
	before := w.serving.Metric(t, "process_cpu_seconds_total")
	time.Sleep(over)
	cores := (w.serving.Metric(t, "process_cpu_seconds_total") - before) / over.Seconds()
	return fmt.Sprintf("%.0f MiB and %.3f of a core when idle; Envoy %d MiB", w.serving.Metric(t, "process_resident_memory_bytes")/(1<<20), cores,
		w.envoy.ResidentKB(t)/1024)
}

// fill adds routes with Services of their own, and waits until Envoy has all.
func (w *speedWorld) fill(t *testing.T, from, to, endpoints int) {
	t.Helper()
	w.each(t, to-from, func(ctx context.Context, i int) error { return w.addService(ctx, from+i, endpoints) })
	first := from
	if from == 1 {
		first = 0
	}
	w.each(t, to-first, func(ctx context.Context, i int) error {
		return w.addRoute(ctx, first+i, fmt.Sprintf("speed-%d", first+i))
	})
	for status := 0; status != http.StatusOK; time.Sleep(50 * time.Millisecond) {
		host, path := w.place(to - 1)
		status, _ = w.getPath(t, host, path)
	}
	w.serving.AwaitAcknowledged(t)
	for before := -1.0; before != w.serving.Metric(t, "limpet_status_writes_total"); time.Sleep(3 * time.Second) { // for all statuses
		before = w.serving.Metric(t, "limpet_status_writes_total")
	}
}

// empty takes everything away, for the tests that come after.
func (w *speedWorld) empty(t *testing.T, routes int) {
	w.each(t, routes, w.removeRoute)
	w.removeServices(t, routes)
}

func (w *speedWorld) removeServices(t *testing.T, n int) {
	w.each(t, n, w.removeService)
}

func (w *speedWorld) removeService(ctx context.Context, i int) error {
	if err := w.services.Delete(ctx, fmt.Sprintf("speed-%d", i), metav1.DeleteOptions{}); err != nil {
		return err
	}
	return w.slices.Delete(ctx, fmt.Sprintf("speed-%d", i), metav1.DeleteOptions{})
}
