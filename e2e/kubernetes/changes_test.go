package kubernetes

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// town is what changes at random: a Gateway with listeners that come and go, a route of which two rules have sessions, routes that come
// and go, and what they all lead to. Its state is what its objects say.
type town struct {
	c        *cluster
	port     int
	tlsPort  int
	spare    []int // ports of listeners that come and go
	open     map[int]bool
	rules    []string // by name, in their order
	plain    string   // the Service of the rule without a session
	weights  [2]int
	idle     string // what a policy says of a route that no client uses
	guests   map[string]bool
	passers  map[int]bool
	ring     []string
	keys     harness.Ring
	secret   string
	serving  *harness.Serving
	envoy    *harness.Envoy
	random   *rand.Rand
	revision int
}

// The pods of the town: those of Service cart, those of Service more, and one that comes and goes in each.
var (
	cartPods = []string{"10.244.12.1", "10.244.12.2", "10.244.12.3"}
	morePods = []string{"10.244.12.4", "10.244.12.5"}
	guestPod = map[string]string{"cart": "10.244.12.6", "more": "10.244.12.7"}
)

func newTown(t *testing.T, flags ...string) *town {
	w := foundTown(t, flags...)
	w.envoy = w.serving.Bootstrap(t).Start(t)
	w.serving.AwaitAcknowledged(t)
	return w
}

// foundTown is newTown without its Envoy.
func foundTown(t *testing.T, flags ...string) *town {
	c := startCluster(t)
	startPods(t, slices.Concat(cartPods, morePods, []string{guestPod["cart"], guestPod["more"]})...)
	w := &town{
		c: c, port: harness.FreePort(t), tlsPort: harness.FreePort(t), spare: []int{harness.FreePort(t), harness.FreePort(t)},
		open: map[int]bool{}, rules: []string{"cart", "split", "plain"}, plain: "cart", weights: [2]int{90, 10}, idle: "10m",
		guests: map[string]bool{}, passers: map[int]bool{}, ring: []string{"k0"}, keys: harness.NewRing("k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"),
		secret: "limpet-keys-of-" + strings.ToLower(t.Name()), random: rand.New(rand.NewPCG(18, 1)),
	}
	w.setAll(t)
	w.serving = harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), w.port, harness.Ring{}, append([]string{
		"--system-namespace", "default", "--keys", "secret/" + w.secret,
	}, flags...)...)
	return w
}

// setAll writes all objects.
func (w *town) setAll(t *testing.T) {
	w.setRing(t)
	w.setCertificate(t)
	w.c.set(t, strings.SplitAfter(shopAt(w.port), "limpet.dev/gateway-controller}\n")[0])
	w.setGateway(t)
	for _, service := range []string{"cart", "more"} {
		w.c.set(t, fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: default}\nspec: {ports: [{name: http, port: 80, targetPort: 8080}]}\n", service))
		w.setPods(t, service)
	}
	w.setRoute(t)
	w.setPolicy(t)
}

func (w *town) setRing(t *testing.T) {
	w.c.setRingOf(t, w.secret, w.keys.Only(w.ring...).JSON(t))
}

func (w *town) setCertificate(t *testing.T) {
	folder := t.TempDir()
	harness.NewAuthority(t).Issue(t, folder, "edge", "town.example", "")
	w.c.set(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: town-tls, namespace: default}\ntype: kubernetes.io/tls\nstringData:\n  tls.crt: %q\n  tls.key: %q\n",
		readFile(t, folder+"/edge.crt"), readFile(t, folder+"/edge.key")))
}

func (w *town) setGateway(t *testing.T) {
	listeners := fmt.Sprintf("{name: http, protocol: HTTP, port: %d}, {name: https, protocol: HTTPS, port: %d, tls: {certificateRefs: [{name: town-tls}]}}", w.port, w.tlsPort)
	for i, port := range w.spare {
		if w.open[port] {
			listeners += fmt.Sprintf(", {name: spare-%d, protocol: HTTP, port: %d}", i, port)
		}
	}
	w.c.set(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: default}
spec: {gatewayClassName: limpet, listeners: [`+listeners+`]}
`)
}

func (w *town) setPods(t *testing.T, service string) {
	pods := map[string][]string{"cart": cartPods, "more": morePods}[service]
	if w.guests[service] {
		pods = append(slices.Clip(pods), guestPod[service])
	}
	text := strings.ReplaceAll(slice(pods...), "name: cart,", "name: "+service+",")
	w.c.set(t, strings.ReplaceAll(text, "service-name: cart", "service-name: "+service))
}

func (w *town) setRoute(t *testing.T) {
	text := map[string]string{
		"cart": "{name: cart, sessionPersistence: {sessionName: CART}, matches: [{path: {value: /cart}}], backendRefs: [{name: cart, port: 80}]}",
		"split": fmt.Sprintf("{name: split, sessionPersistence: {sessionName: SPLIT, absoluteTimeout: 8h}, matches: [{path: {value: /split}}], "+
			"backendRefs: [{name: cart, port: 80, weight: %d}, {name: more, port: 80, weight: %d}]}", w.weights[0], w.weights[1]),
		"plain": fmt.Sprintf("{name: plain, matches: [{path: {value: /plain}}], backendRefs: [{name: %s, port: 80}]}", w.plain),
	}
	var rules []string
	for _, name := range w.rules {
		if text[name] == "" { // one that was inserted
			text[name] = fmt.Sprintf("{name: %s, matches: [{path: {value: /%s}}], backendRefs: [{name: more, port: 80}]}", name, name)
		}
		rules = append(rules, text[name])
	}
	w.c.set(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: default}
spec: {parentRefs: [{name: edge}], rules: [`+strings.Join(rules, ", ")+`]}
`)
}

func (w *town) setPolicy(t *testing.T) {
	w.c.set(t, routeText("idle", "idle.example", "cart"))
	w.c.set(t, `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: idle, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: idle}]
  sessionName: IDLE
  idleTimeout: `+w.idle+"\n")
}

// change makes one change at random.
func (w *town) change(t *testing.T) {
	w.revision++
	kinds := []func(*testing.T){
		w.insertRule, w.reorder, w.reweigh, w.swapBackend, w.changePolicy, w.moveListener, w.setCertificate, w.rotate, w.moveGuest, w.moveRoute,
	}
	kinds[w.random.IntN(len(kinds))](t)
}

// insertRule puts a rule before the others, or takes all such out.
func (w *town) insertRule(t *testing.T) {
	if len(w.rules) > 6 {
		w.rules = slices.DeleteFunc(w.rules, func(name string) bool { return strings.HasPrefix(name, "new") })
	} else {
		w.rules = slices.Insert(w.rules, 0, fmt.Sprintf("new%d", w.revision))
	}
	w.setRoute(t)
}

func (w *town) reorder(t *testing.T) {
	w.random.Shuffle(len(w.rules), func(i, j int) { w.rules[i], w.rules[j] = w.rules[j], w.rules[i] })
	w.setRoute(t)
}

func (w *town) reweigh(t *testing.T) {
	w.weights = [2]int{w.random.IntN(100), 1 + w.random.IntN(100)}
	w.setRoute(t)
}

func (w *town) swapBackend(t *testing.T) {
	w.plain = map[string]string{"cart": "more", "more": "cart"}[w.plain]
	w.setRoute(t)
}

func (w *town) changePolicy(t *testing.T) {
	w.idle = fmt.Sprintf("%dm", 10+w.revision%50)
	w.setPolicy(t)
}

func (w *town) moveListener(t *testing.T) {
	port := w.spare[w.random.IntN(len(w.spare))]
	w.open[port] = !w.open[port]
	w.setGateway(t)
}

// rotate puts a fresh key behind those that sign, has it sign the next time, and takes the oldest out when there are many.
func (w *town) rotate(t *testing.T) {
	all := w.keys.IDs()
	if len(w.ring) < len(all) {
		next := all[len(w.ring)]
		w.ring = append([]string{w.ring[0], next}, w.ring[1:]...)
	} else {
		w.random.Shuffle(len(w.ring), func(i, j int) { w.ring[i], w.ring[j] = w.ring[j], w.ring[i] })
	}
	w.setRing(t)
}

func (w *town) moveGuest(t *testing.T) {
	service := []string{"cart", "more"}[w.random.IntN(2)]
	w.guests[service] = !w.guests[service]
	w.setPods(t, service)
}

// moveRoute has a route come or go.
func (w *town) moveRoute(t *testing.T) {
	i := w.random.IntN(20)
	name := fmt.Sprintf("passer-%d", i)
	if w.passers[i] {
		w.c.remove(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", name))
	} else {
		w.c.set(t, routeText(name, name+".example", []string{"cart", "more"}[w.random.IntN(2)]))
	}
	w.passers[i] = !w.passers[i]
}

// leave takes away what other tests would find.
func (w *town) leave(t *testing.T) {
	for i, there := range w.passers {
		if there {
			w.c.remove(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", fmt.Sprintf("passer-%d", i)))
		}
	}
	w.c.remove(t, object("limpet.dev/v1alpha1", "SessionPersistencePolicy", "default", "idle"))
	for _, name := range []string{"idle", "mark"} {
		w.c.remove(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", name))
	}
}

// beginSessions begins sessions of both kinds, and clients without any, whose pods may change.
func (w *town) beginSessions(t *testing.T, count int) *harness.Clients {
	paths := []string{"/cart", "/split", "/plain"}
	return harness.NewClients(t, count, func(i int) func() (harness.Response, error) {
		path := paths[i%len(paths)]
		client := w.envoy.Client()
		return func() (harness.Response, error) {
			r, err := client.Try(http.MethodGet, path)
			if path == "/plain" && r.Backend != "" {
				r.Backend = "any"
			}
			return r, err
		}
	})
}

// live waits until Envoy has a change that is made for that.
func (w *town) live(t *testing.T) {
	t.Helper()
	w.revision++
	name := fmt.Sprintf("mark%d", w.revision)
	w.c.set(t, routeText("mark", name+".example", "cart"))
	eventually(t, "the last change is live", func() bool {
		client := w.envoy.Stranger()
		client.Host = name + ".example"
		r, err := client.Try(http.MethodGet, "/")
		return err == nil && r.Status == http.StatusOK
	})
}

// TestRandomChanges: under load, changes of everything that a cluster's users change answer no request with an error and move no session.
//
// requirements: 2A.4
func TestRandomChanges(t *testing.T) {
	w := newTown(t)
	clients := w.beginSessions(t, 12)
	changes := harness.Size(60, 1000)
	tally := clients.During(func() {
		for i := range changes {
			w.change(t)
			if i%20 == 19 {
				w.live(t)
			}
		}
		w.live(t)
	})
	w.serving.AwaitAcknowledged(t)
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("after %d changes: %v", changes, tally)
	}
	w.leave(t)
	harness.RecordResult(t, "random changes of a cluster's objects under load (limpet serve)", harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Changes: changes, Lost: tally.Moved(), Errors: tally.Failed(),
		Note: "rules inserted, reordered, split and swapped; policies, listeners, certificates, keys, endpoints, routes",
	})
}
