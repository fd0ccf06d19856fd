package kubernetes

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// witness compares what limpet says with what a client sees, while objects change, and two replicas of limpet and an Envoy go and come.
type witness struct {
	c           *cluster
	port, spare int
	replicas    [2]*harness.Serving
	dead        [2]bool
	envoy       *harness.Envoy // nil while there is none
	at          int            // the replica that it connects to
	client      *harness.Client
	random      *rand.Rand

	rule     int  // what it is called
	timeout  int  // of the rule
	broken   bool // the rule's Service is not there
	open     bool // the Gateway listens on the spare port
	granted  bool // another route may lead to its Service
	epoch    int
	ring     int   // the number of the key in it
	coming   []int // the steps that come next
	hasEnded bool  // an edit has ended sessions, and the route has been of that generation since
	ends     bool  // the last edit has
	renewed  bool  // the last step was another ring, which each replica reads for itself
}

// newWitness starts two replicas, and an Envoy at one of them.
func newWitness(t *testing.T) *witness {
	c, port := openShop(t, "10.244.16.1", "10.244.16.2")
	c.keepOnlyEdge(t)
	c.forgetRoute(t, shopAt(port))
	c.set(t, stockBackend+"---"+sliceOf("stock", "stock", "10.244.16.1", "10.244.16.2"))
	w := &witness{c: c, port: port, spare: harness.FreePort(t), random: rand.New(rand.NewPCG(38, 1))}
	w.setRoute(t)
	w.setGateway(t)
	w.setPolicy(t)
	w.replicas[0] = harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default",
		"--programmed-grace", "1s")
	w.replicas[1] = w.replicas[0].Another(t)
	w.moveEnvoy(t)
	w.client = w.envoy.Client()
	w.toggleGrant(t)
	return w
}

// keepOnlyEdge deletes Gateways that other tests have left: no Envoy connects to them, which "limpet status" would say.
func (c *cluster) keepOnlyEdge(t *testing.T) {
	t.Helper()
	gateways := c.client.Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"})
	all, err := gateways.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all.Items {
		if g.GetNamespace() != "default" || g.GetName() != "edge" {
			c.remove(t, &g)
		}
	}
}

func (w *witness) setRoute(t *testing.T) {
	service := "cart"
	if w.broken {
		service = "gone"
	}
	w.c.set(t, fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - name: rule-%d
    sessionPersistence: {sessionName: CART}
    timeouts: {request: %ds}
    matches: [{path: {value: /cart}}]
    backendRefs: [{name: %s, port: 80}]
`, w.rule, 30+w.timeout, service))
}

func (w *witness) setGateway(t *testing.T) {
	more := ""
	if w.open {
		more = fmt.Sprintf(", {name: spare, protocol: HTTP, port: %d}", w.spare)
	}
	w.c.set(t, fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: default}\n"+
		"spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: %d}%s]}\n", w.port, more))
}

func (w *witness) setPolicy(t *testing.T) {
	w.c.set(t, cartPolicy(fmt.Sprintf("revocation: {epoch: %d}", w.epoch)))
}

// toggleGrant has a route lead to a Service of another namespace, or not.
func (w *witness) toggleGrant(t *testing.T) {
	if w.granted = !w.granted; w.granted {
		w.c.set(t, stockGrant)
	} else {
		w.c.remove(t, object("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", "stock", "default"))
	}
}

// renewRing has the replicas sign with another key, and verify with no other.
func (w *witness) renewRing(t *testing.T) {
	w.ring++
	w.ends, w.hasEnded, w.renewed = true, true, true
	w.replicas[0].WriteKeys(t, harness.NewRing(fmt.Sprintf("k%d", w.ring)).JSON(t))
}

// step does one thing at random, but each of them once before one is repeated, and says what.
func (w *witness) step(t *testing.T) string {
	w.ends, w.renewed = false, false
	steps := []struct {
		name string
		do   func(*testing.T)
	}{
		{"the rule is renamed", func(t *testing.T) { w.rule, w.ends = w.rule+1, true; w.editRoute(t) }},
		{"the rule has another timeout", func(t *testing.T) { w.timeout++; w.editRoute(t) }},
		{"the rule's Service goes, or comes back", func(t *testing.T) { w.broken = !w.broken; w.editRoute(t) }},
		{"the epoch is raised", func(t *testing.T) { w.epoch, w.ends, w.hasEnded = w.epoch+1, true, true; w.setPolicy(t) }},
		{"a listener comes or goes", func(t *testing.T) { w.open = !w.open; w.setGateway(t) }},
		{"a grant goes, or comes back", w.toggleGrant},
		{"the ring is another one", w.renewRing},
		{"the Envoy goes, or comes", func(t *testing.T) {
			if w.envoy == nil {
				w.moveEnvoy(t)
			} else {
				w.stopEnvoy()
			}
		}},
		{"the Envoy moves", func(t *testing.T) { w.stopEnvoy(); w.moveEnvoy(t) }},
		{"a replica is killed, or comes back", func(t *testing.T) { w.toggle(t, true) }},
		{"a replica ends, or comes back", func(t *testing.T) { w.toggle(t, false) }},
	}
	if len(w.coming) == 0 {
		w.coming = w.random.Perm(len(steps))
	}
	s := steps[w.coming[0]]
	w.coming = w.coming[1:]
	s.do(t)
	return s.name
}

func (w *witness) editRoute(t *testing.T) {
	w.hasEnded = w.ends
	w.setRoute(t)
}

func (w *witness) stopEnvoy() {
	if w.envoy != nil {
		w.envoy.Stop()
	}
	w.envoy = nil
}

// moveEnvoy starts the Envoy at a replica that is there.
func (w *witness) moveEnvoy(t *testing.T) {
	if w.at = w.random.IntN(2); w.dead[w.at] {
		w.at = 1 - w.at
	}
	w.envoy = w.replicas[w.at].Bootstrap(t).Start(t)
}

// toggle ends a replica, or starts one that has ended: one is there always.
func (w *witness) toggle(t *testing.T, kill bool) {
	for i, dead := range w.dead {
		if dead {
			w.replicas[i].ServeAgain(t)
			w.dead[i] = false
			return
		}
	}
	i := w.random.IntN(2)
	if w.dead[i] = true; kill {
		w.replicas[i].Kill(t)
	} else {
		w.replicas[i].Terminate(t)
	}
}

// isConnected tells whether the Envoy follows what changes.
func (w *witness) isConnected() bool { return w.envoy != nil && !w.dead[w.at] }

// differIn notes in a list what is said otherwise than it is.
func differIn(lies *[]string) func(what string, says, is any) {
	return func(what string, says, is any) {
		if says != is {
			*lies = append(*lies, fmt.Sprintf("%s: it says %v, and it is %v", what, says, is))
		}
	}
}

// compare lists what limpet says and a client sees otherwise.
func (w *witness) compare(t *testing.T) (lies []string) {
	differ := differIn(&lies)
	gateway := w.c.get(t, object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge"))
	programmed := map[bool]string{true: "True Programmed", false: "False Pending"}
	differ("Programmed", condition(gateway, "Programmed"), programmed[w.isConnected()])
	for i, s := range w.replicas {
		if w.dead[i] {
			continue
		}
		has := w.isConnected() && w.at == i
		_, content := s.Status(t)
		differ(fmt.Sprintf("the exit code of limpet status at replica %d is 0", i), content, has)
		differ(fmt.Sprintf("the metric of Envoys at replica %d", i), s.Metric(t, "limpet_xds_streams") == 1, has)
		differ("the metric of errors of the input", s.Metric(t, "limpet_input_errors"), 0.0)
	}
	route := w.c.get(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "cart"))
	differ("the route is accepted", condition(route, "Accepted", "status", "parents"), "True Accepted")
	words, _ := endedOf(route)
	differ("sessions have ended", words != "", w.hasEnded)
	if !w.isConnected() {
		return lies // it serves on what it has, or does not serve
	}
	r, err := w.envoy.Stranger().Try(http.MethodGet, "/cart")
	if err != nil {
		return append(lies, err.Error())
	}
	differ("references are resolved", condition(route, "ResolvedRefs", "status", "parents") == "True ResolvedRefs", r.Status == http.StatusOK)
	differ("references are not", condition(route, "ResolvedRefs", "status", "parents") == "False BackendNotFound", r.Status == http.StatusInternalServerError)
	return append(lies, w.compareRest(t, gateway)...)
}

// compareRest is about the route that needs a grant, and the Gateway's listeners.
func (w *witness) compareRest(t *testing.T, gateway *unstructured.Unstructured) (lies []string) {
	stock := w.envoy.Stranger()
	stock.Host = "stock.example"
	r, err := stock.Try(http.MethodGet, "/")
	if err != nil {
		return append(lies, err.Error())
	}
	differ := differIn(&lies)
	refs := condition(w.c.get(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "stock")), "ResolvedRefs", "status", "parents")
	differ("the grant is there", refs == "True ResolvedRefs", r.Status == http.StatusOK)
	differ("the grant is not there", refs == "False RefNotPermitted", r.Status == http.StatusInternalServerError)
	differ("there shall be a grant", w.granted, r.Status == http.StatusOK)
	listeners, _, _ := unstructured.NestedSlice(gateway.Object, "status", "listeners")
	connection, err := net.DialTimeout("tcp", harness.Loopback(w.spare), time.Second)
	if err == nil {
		_ = connection.Close()
	}
	differ("there are two listeners", len(listeners) == 2, err == nil)
	differ("there shall be two listeners", w.open, err == nil)
	return lies
}

// TestWhatItSaysIsSo: after each edit, and after each end and return of a replica or of the Envoy, statuses, "limpet status", metrics and exit
// codes say what a client of the Envoy sees: soon, whichever replica leads. Sessions that are said to have ended have, and no others.
func TestWhatItSaysIsSo(t *testing.T) {
	w := newWitness(t)
	steps := harness.Size(25, 300)
	sessions, ended := 0, 0
	awaitAgreement := func(what string) {
		t.Helper()
		var lies []string
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			if lies = w.compare(t); len(lies) == 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s, and %v later:\n\t%s", what, patience, strings.Join(lies, "\n\t"))
			}
		}
	}
	// begins tells whether a client with a session gets another one. It can't be asked while nothing serves, or by old configuration. Another
	// ring is told of by the replica that leads, and may come later to the other one.
	begins := func() (is, known bool) {
		if !w.isConnected() || w.broken {
			return false, false
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			r, err := w.client.Try(http.MethodGet, "/cart")
			is = len(r.Header["Set-Cookie"]) > 0
			if is || err != nil || !w.renewed || time.Now().After(deadline) {
				return is, err == nil
			}
		}
	}
	awaitAgreement("at the beginning")
	pending := false // sessions have ended since the client was last answered
	_, _ = begins()
	for i := range steps {
		what := fmt.Sprintf("step %d: %s", i, w.step(t))
		awaitAgreement(what)
		pending = pending || w.ends
		if is, known := begins(); known {
			if sessions++; is != pending {
				t.Errorf("%s: the client's session has ended: %t; it is said to: %t", what, is, pending)
			}
			if pending = false; is {
				ended++
			}
		}
	}
	t.Logf("of %d steps the client's session was there after %d, and had ended after %d", steps, sessions, ended)
	w.c.remove(t, object("limpet.dev/v1alpha1", "SessionPersistencePolicy", "default", "cart"))
	w.c.remove(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "stock"))
}
