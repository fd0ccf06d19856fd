package kubernetes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// The tests here delete what others need (docs/operations.md, "What is deleted"): each holds what stops by it, what goes on, and what says so.

// TestDeletedKind: a CRD that is deleted takes its objects with it. What they asked for ends, which routes say; all else goes on.
func TestDeletedKind(t *testing.T) {
	c, port := openShop(t, "10.244.15.1", "10.244.15.2")
	c.set(t, routeText("basket", "basket.example", "cart"))
	c.set(t, strings.ReplaceAll(cartPolicy("sessionName: BASKET"), "name: cart", "name: basket"))
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default")
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	home := client.Get(t, "/cart").Backend
	basket := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "basket")
	hasSession := func() bool {
		stranger := envoy.Stranger()
		stranger.Host = "basket.example"
		r := stranger.Get(t, "/")
		return r.Status == http.StatusOK && strings.Contains(strings.Join(r.Header["Set-Cookie"], ""), "BASKET=")
	}
	eventually(t, "the policy is in force", hasSession)
	restore := c.removeKind(t, "sessionpersistencepolicies.limpet.dev")
	eventually(t, "its kind is gone, and the sessions with it", func() bool { return !hasSession() })
	s.AwaitLine(t, `.*a kind is gone, and its objects with it.*SessionPersistencePolicy.*`)
	eventually(t, "the route says so", func() bool {
		words, _ := endedOf(c.get(t, basket))
		return strings.HasPrefix(words, "the sessions of a rule ended: spec.rules[0]: it has no session any more")
	})
	if at := client.Get(t, "/cart").Backend; at != home {
		t.Errorf("the session of %s, which no policy has, is at %s", home, at)
	}
	restore()
	eventually(t, "the policy is in force again", func() bool {
		return c.apply(t.Context(), strings.ReplaceAll(cartPolicy("sessionName: BASKET"), "name: cart", "name: basket")) == nil && hasSession()
	})
	c.remove(t, object("limpet.dev/v1alpha1", "SessionPersistencePolicy", "default", "basket"))
	c.remove(t, basket)
}

// removeKind deletes a CRD, and gives what creates it again.
func (c *cluster) removeKind(t *testing.T, name string) (restore func()) {
	t.Helper()
	crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
	whole := c.get(t, crd)
	c.remove(t, crd)
	return func() {
		t.Helper()
		eventually(t, "the kind is gone", func() bool { return c.get(t, crd) == nil })
		restored := crd.DeepCopy()
		restored.Object["spec"] = whole.Object["spec"]
		resource, err := c.resourceOf(restored)
		if err != nil {
			t.Fatal(err)
		}
		create(t, resource, restored)
	}
}

// TestDeletedGrant: a rule that leads across namespaces answers 500 without its ReferenceGrant, its route says so, and others go on; with the
// grant again the sessions of before go on too.
func TestDeletedGrant(t *testing.T) {
	c, port := openShop(t, "10.244.15.3", "10.244.15.4")
	c.set(t, stockBackend+"---"+sliceOf("stock", "stock", "10.244.15.3", "10.244.15.4"))
	c.set(t, stockGrant)
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default")
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client, stock := envoy.Client(), envoy.Client()
	stock.Host = "stock.example"
	home := client.Get(t, "/cart").Backend
	eventually(t, "it serves", func() bool { return stock.Get(t, "/").Status == http.StatusOK })
	there := stock.Get(t, "/").Backend
	route := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "stock")
	resolved := func(want string) func() bool {
		return func() bool { return condition(c.get(t, route), "ResolvedRefs", "status", "parents") == want }
	}
	eventually(t, "its references are resolved", resolved("True ResolvedRefs"))

	c.remove(t, object("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", "stock", "default"))
	eventually(t, "without the grant requests get 500", func() bool { return stock.Get(t, "/").Status == http.StatusInternalServerError })
	eventually(t, "the route says so", resolved("False RefNotPermitted"))
	eventually(t, "people hear of it", func() bool { return c.hasEvent(t, "stock", "RefNotPermitted", "stock") })
	if at := client.Get(t, "/cart").Backend; at != home {
		t.Errorf("the session of %s, which needs no grant, is at %s", home, at)
	}
	c.set(t, stockGrant)
	eventually(t, "with the grant it serves again", func() bool { return stock.Get(t, "/").Status == http.StatusOK })
	for range 5 {
		if at := stock.Get(t, "/").Backend; at != there {
			t.Fatalf("the session of %s is at %s", there, at)
		}
	}
	c.remove(t, route)
}

const stockBackend = `
apiVersion: v1
kind: Namespace
metadata: {name: stock}
---
apiVersion: v1
kind: Service
metadata: {name: stock, namespace: stock}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: stock, namespace: default}
spec:
  hostnames: [stock.example]
  parentRefs: [{name: edge}]
  rules: [{name: stock, sessionPersistence: {sessionName: STOCK}, backendRefs: [{name: stock, namespace: stock, port: 80}]}]
`

const stockGrant = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: default, namespace: stock}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}]
  to: [{group: "", kind: Service}]
`

// TestDeletedRing: without its Secret the ring goes on signing and verifying, and "limpet status" and a metric say so until the Secret is
// back. A process that starts meanwhile makes another ring; the one that runs takes it, and the routes say that their sessions have ended.
func TestDeletedRing(t *testing.T) {
	c, port := openShop(t, "10.244.15.5", "10.244.15.6")
	const name = "limpet-keys-of-deleted"
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.Ring{}, "--system-namespace", "default", "--keys", "secret/"+name)
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	home := client.Get(t, "/cart").Backend
	secret := object("v1", "Secret", "default", name)
	whole := c.get(t, secret)
	isReported := func() bool {
		_, content := s.Status(t)
		return !content && s.Metric(t, "limpet_input_errors") == 1
	}
	fine := func() bool {
		_, content := s.Status(t)
		return content && s.Metric(t, "limpet_input_errors") == 0
	}
	eventually(t, "all is well", fine)
	c.remove(t, secret)
	eventually(t, "limpet status and the metric say that the Secret is gone", isReported)
	s.AwaitLine(t, `.*the key ring's Secret is gone; its ring stays until this process ends.*`)
	if at := client.Get(t, "/cart").Backend; at != home {
		t.Errorf("the session of %s is at %s", home, at)
	}
	if r := envoy.Stranger().Get(t, "/cart"); len(r.Header["Set-Cookie"]) == 0 {
		t.Error("no new session begins")
	}
	c.set(t, secretText(whole))
	eventually(t, "with the Secret again all is well", fine)
	if at := client.Get(t, "/cart").Backend; at != home {
		t.Errorf("the session of %s is at %s", home, at)
	}

	c.remove(t, secret)
	eventually(t, "it is told once more", isReported)
	s.Another(t)
	eventually(t, "the ring that another process made is taken", fine)
	route := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "cart")
	eventually(t, "the route says so", func() bool {
		words, _ := endedOf(c.get(t, route))
		return strings.Contains(words, "with which they may be signed, is in the ring no more")
	})
}

// secretText is a Secret as a person would write it, from one that is there.
func secretText(of *unstructured.Unstructured) string {
	data, _, _ := unstructured.NestedStringMap(of.Object, "data")
	text := ""
	for key, value := range data {
		text += fmt.Sprintf("  %s: %s\n", key, value)
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: default}\ntype: %v\ndata:\n%s", of.GetName(), of.Object["type"], text)
}
