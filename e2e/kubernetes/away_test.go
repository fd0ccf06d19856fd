package kubernetes

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// isRebuilt holds that what is served is what a limpet serves that has seen nothing but the objects as they are now.
func (w *town) isRebuilt(t *testing.T) {
	t.Helper()
	another := w.serving.Another(t)
	eventually(t, "what is served is what the objects say", func() bool {
		return reflect.DeepEqual(served(t, w.serving, harness.EdgeGateway), served(t, another, harness.EdgeGateway))
	})
	another.Kill(t)
}

// TestEnvoyAway: an Envoy is cut off while everything changes, and limpet is started again, so that nothing but what the Envoy says itself
// tells what it has. It serves on, and when it comes back it is brought to what the objects say.
func TestEnvoyAway(t *testing.T) {
	w := foundTown(t)
	defer w.leave(t)
	door := newDoor(t, w.serving.Listen)
	w.envoy = w.serving.Bootstrap(t, "--server", door.Addr().String()).Start(t)
	w.serving.AwaitAcknowledged(t)
	w.suffer(t, "an Envoy is cut off while everything changes and limpet is started again, and comes back", func() {
		door.lead("")
		for range harness.Size(30, 300) {
			w.change(t)
		}
		w.serving.Kill(t)
		w.serving.ServeAgain(t)
		w.change(t)
		door.lead(w.serving.Listen)
	})
	w.isRebuilt(t)
}

// TestLeaderKilled: the process that writes statuses and serves the Envoy is killed while changes go on. Another one takes over both.
func TestLeaderKilled(t *testing.T) {
	w := foundTown(t)
	defer w.leave(t)
	door := newDoor(t, w.serving.Listen)
	w.envoy = w.serving.Bootstrap(t, "--server", door.Addr().String()).Start(t)
	w.serving.AwaitAcknowledged(t)
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	isProgrammed := func() bool { return condition(w.c.get(t, gateway), "Programmed") == "True Programmed" }
	eventually(t, "it writes statuses", func() bool { return isProgrammed() && w.serving.Metric(t, "limpet_status_writes_total") > 0 })
	other := w.serving.Another(t)
	w.suffer(t, "the leader is killed (SIGKILL) in the middle of changes, and another takes over its Envoy and its statuses", func() {
		for range 3 {
			w.change(t)
		}
		w.moveListener(t)
		w.serving.Kill(t)
		for range 3 {
			w.change(t)
		}
		w.serving = other
		door.lead(other.Listen)
		w.moveListener(t)
		eventually(t, "the other one writes statuses", isProgrammed)
	})
	w.isRebuilt(t)
}

// TestRoutesOfNoKind: the CRD of HTTPRoute is deleted, and all routes with it; the kind and the routes come back. Envoy answers 404
// meanwhile, which is what the objects say, and sessions go on afterwards.
func TestRoutesOfNoKind(t *testing.T) {
	w := newTown(t)
	defer w.leave(t)
	client := w.envoy.Client()
	home := client.Get(t, "/cart").Backend
	crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "httproutes.gateway.networking.k8s.io")
	whole := w.c.get(t, crd)
	w.c.remove(t, crd)
	eventually(t, "there is no route", func() bool { return w.envoy.Stranger().Get(t, "/cart").Status == http.StatusNotFound })
	eventually(t, "the CRD is gone", func() bool { return w.c.get(t, crd) == nil })
	another := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", whole.GetName())
	another.Object["spec"] = whole.Object["spec"]
	another.SetAnnotations(whole.GetAnnotations())
	resource, err := w.c.resourceOf(another)
	if err != nil {
		t.Fatal(err)
	}
	create(t, resource, another)
	eventually(t, "routes are taken again", func() bool { return w.c.apply(t.Context(), routeText("mark", "mark.example", "cart")) == nil })
	w.setAll(t)
	w.live(t)
	if at := client.Get(t, "/cart").Backend; at != home {
		t.Errorf("the session of %s is at %s", home, at)
	}
	harness.RecordResult(t, "the CRD of HTTPRoute is deleted, with all routes, and comes back with them (limpet serve)", harness.Result{
		Requests: 3, Sessions: 1, Changes: 2, Faults: 1, Note: "404 while there is no route",
	})
	w.isRebuilt(t)
}

// unruly is the answer to a watch whose events come late, each kind's by times of its own, and whose connection is cut in between.
type unruly struct {
	http.ResponseWriter
	ends time.Time
}

func (u *unruly) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (u *unruly) Write(event []byte) (int, error) {
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	if rand.IntN(10) == 0 {
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
	}
	if time.Now().After(u.ends) {
		panic(http.ErrAbortHandler) // and the event with it
	}
	return u.ResponseWriter.Write(event)
}

// TestUnrulyWatches: events of different kinds come in another order than that in which it happened, and some are lost with the connection that
// brought them: a route before its Service, a Service before its EndpointSlices are those of now.
func TestUnrulyWatches(t *testing.T) {
	c := startCluster(t)
	faulty, kubeconfig := newFaultyServer(t, c)
	w := newTown(t, "--kubeconfig", kubeconfig)
	defer w.leave(t)
	mode := func(to http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("watch") == "" {
			return false
		}
		faulty.pass(&unruly{to, time.Now().Add(time.Duration(300+rand.IntN(1500)) * time.Millisecond)}, r)
		return true
	}
	w.suffer(t, "watches bring events late, in another order, and not at all", func() {
		faulty.during(mode, func() {
			for range harness.Size(60, 600) {
				w.change(t)
				time.Sleep(50 * time.Millisecond)
			}
		})
	})
	w.isRebuilt(t)
}

// TestClocks: limpet's clock is ahead of an Envoy's, and behind another's, and the holder of the Lease before it was an hour ahead, or
// behind: sessions go on, and statuses are written when that one has gone.
func TestClocks(t *testing.T) {
	w := foundTown(t)
	defer w.leave(t)
	for name, skew := range map[string]time.Duration{"ahead of": -50 * time.Second, "behind": 50 * time.Second} {
		w.envoy = w.serving.Bootstrap(t).Skewed(t, skew).Start(t)
		w.serving.AwaitAcknowledged(t)
		w.suffer(t, "limpet's clock is 50 s "+name+" Envoy's", func() {
			for range 10 {
				w.change(t)
			}
		})
		w.envoy.Stop()
	}
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		w.serving.Kill(t)
		at := time.Now().Add(skew).UTC().Format("2006-01-02T15:04:05.000000Z")
		w.c.set(t, fmt.Sprintf("apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: limpet-serve, namespace: default}\n"+
			"spec: {holderIdentity: another, leaseDurationSeconds: 15, acquireTime: %q, renewTime: %q, leaseTransitions: 1}\n", at, at))
		w.serving.ServeAgain(t)
		w.moveListener(t)
		begun := time.Now()
		time.Sleep(5 * time.Second)
		if strings.Contains(w.serving.Output(), "this process writes statuses now") {
			t.Errorf("a Lease of %v from now is taken after %v", skew, time.Since(begun))
		}
		eventually(t, "statuses are written when the other one has gone", func() bool {
			return condition(w.c.get(t, gateway), "Programmed") == "True Programmed"
		})
	}
}
