package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

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
	if worst := max(meanwhile[len(meanwhile)-1], after[len(after)-1]); worst > 10*time.Second {
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

// TestFlappingTenant: all pods behind 900 addresses of a namespace are others six times a second. What others' endpoints become is live
// meanwhile after at most five times as long as without. Calm and change alternate, so that a machine that is busy is so for both.
func TestFlappingTenant(t *testing.T) {
	w := newSpeedWorld(t)
	if err := w.addService(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	if err := w.addRoute(t.Context(), 0, "speed-0"); err != nil {
		t.Fatal(err)
	}
	w.c.set(t, flappingTenant+flappingPods(0))
	eventually(t, "the tenant's pods are served", func() bool {
		return strings.Contains(fmt.Sprint(served(t, w.serving, "flapping/edge")["endpoints"]), "10.9.4.100")
	})
	w.flipEndpoints(t, 3) // for what is done for the first time
	var calm, meanwhile []time.Duration
	var count int
	for range harness.Size(4, 20) {
		calm = append(calm, w.flipEndpoints(t, 5)...)
		meanwhile = append(meanwhile, w.flipBesideFlaps(t, &count)...)
	}
	slices.Sort(calm)
	slices.Sort(meanwhile)
	middle := meanwhile[len(meanwhile)/2]
	times := float64(middle) / float64(calm[len(calm)/2])
	fmt.Printf("tenants: another's endpoints are live: calm %s; while 900 pods change %d times %s: %.1f times as long\n",
		quantiles(calm), count, quantiles(meanwhile), times)
	nobodyMinds := harness.Size(500*time.Millisecond, 0) // of a few changes that are short
	if worst := meanwhile[len(meanwhile)-1]; worst > 10*time.Second || times > 5 && middle > nobodyMinds {
		t.Errorf("another's endpoints took %v, %.1f times as long as in the calm", worst, times)
	}
	harness.RecordResult(t, "a tenant's 900 pods change six times a second (limpet serve)", harness.Result{
		Changes: count + len(calm) + len(meanwhile), Note: fmt.Sprintf("others' endpoints take %.1f times as long as in the calm", times),
	})
	w.c.remove(t, object("gateway.networking.k8s.io/v1", "Gateway", "flapping", "edge"))
	w.empty(t, 1)
}

// flipBesideFlaps is flipEndpoints while the tenant's pods change, from the third change on. It counts these.
func (w *speedWorld) flipBesideFlaps(t *testing.T, count *int) []time.Duration {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	flaps, begun := make(chan int), make(chan bool, 2)
	go func() { flaps <- w.flapPods(ctx, t, *count, begun) }()
	<-begun
	took := w.flipEndpoints(t, 5)
	stop()
	*count = <-flaps
	return took
}

const flappingTenant = `
apiVersion: v1
kind: Namespace
metadata: {name: flapping}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: flapping}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 8000}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pods, namespace: flapping}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: pods, port: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: pods, namespace: flapping}
spec: {clusterIP: None, ports: [{port: 80}]}
---`

// flappingPods are 900 addresses with other pods for each number.
func flappingPods(number int) string {
	var text strings.Builder
	text.WriteString(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pods-1, namespace: flapping, labels: {kubernetes.io/service-name: pods}}
addressType: IPv4
ports: [{port: 80}]
endpoints:
`)
	for i := range 900 {
		fmt.Fprintf(&text, "- {addresses: [10.9.%d.%d], targetRef: {kind: Pod, name: p%d, namespace: flapping, uid: u%d-%d}}\n", i/200, 1+i%200, i, i, number)
	}
	return text.String()
}

// flapPods has them change until ctx ends, and gives how often they have, of all. It tells when they have a few times.
func (w *speedWorld) flapPods(ctx context.Context, t *testing.T, count int, begun chan<- bool) int {
	pods := &unstructured.Unstructured{}
	resource, err := w.c.resourceOf(object("discovery.k8s.io/v1", "EndpointSlice", "flapping", ""))
	if err == nil {
		err = yaml.Unmarshal([]byte(flappingPods(0)), &pods.Object)
	}
	tick := time.NewTicker(160 * time.Millisecond)
	defer tick.Stop()
	for first := count; err == nil && ctx.Err() == nil; <-tick.C {
		if count++; count == first+3 {
			begun <- true
		}
		for i, one := range pods.Object["endpoints"].([]any) {
			one.(map[string]any)["targetRef"].(map[string]any)["uid"] = fmt.Sprintf("u%d-%d", i, count)
		}
		_, err = resource.Update(ctx, pods, metav1.UpdateOptions{})
	}
	if err != nil && ctx.Err() == nil {
		t.Error(err)
		begun <- true
	}
	return count
}

// flipEndpoints has a Service's pod be another, again and again, and measures from before that is written until the new one answers.
func (w *speedWorld) flipEndpoints(t *testing.T, n int) (took []time.Duration) {
	t.Helper()
	for range n {
		w.odd = !w.odd
		port, backend := firstPort, "first"
		if w.odd {
			port, backend = secondPort, "second"
		}
		took = append(took, w.moveService(t, endpointsText(0, 1, port), hostOf(0), backend))
		time.Sleep(30 * time.Millisecond) // so that changes do not come in step with the others'
	}
	slices.Sort(took)
	return took
}
