package kubernetes

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// TestSessionsEnded: an edit that ends sessions, of a route, of a policy or of the ring, is in the route's status and an event, also when
// another process writes statuses, until the route's next generation.
func TestSessionsEnded(t *testing.T) {
	c, port := openShop(t, "10.244.13.1")
	c.forgetRoute(t, shopAt(port))
	const secret = "limpet-keys-of-ended"
	ring := harness.NewRing("k", "next")
	c.setRingOf(t, secret, ring.Only("k").JSON(t))
	first := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.Ring{}, "--system-namespace", "default",
		"--keys", "secret/"+secret)
	route := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "cart")
	ended := func() (words string, at time.Time) { return endedOf(c.get(t, route)) }
	says := func(want string) func() bool {
		return func() bool { words, _ := ended(); return strings.Contains(words, want) }
	}
	nothing := func() bool { words, _ := ended(); return words == "" }
	accepted := func() bool { return condition(c.get(t, route), "Accepted", "status", "parents") == "True Accepted" }
	eventually(t, "the route is accepted", accepted)
	if !nothing() {
		t.Error("nothing was edited, and sessions have ended")
	}

	renamed := strings.Replace(shopAt(port), "  - name: cart", "  - name: basket", 1)
	c.set(t, renamed)
	eventually(t, "a renamed rule is told", says(`the sessions of a rule ended: spec.rules: no rule is named "cart" any more`))
	eventually(t, "people hear of it", func() bool { return c.hasEvent(t, "cart", v1alpha1.ReasonSessionsEnded, `no rule is named "cart"`) })
	_, began := ended()

	second := first.Another(t)
	first.Kill(t)
	c.set(t, strings.Replace(renamed, "    backendRefs:", "    timeouts: {request: 30s}\n    backendRefs:", 1)) // which ends none, and is the next generation
	eventually(t, "the other one writes statuses, and the next generation has it no more", nothing)
	c.set(t, renamed)
	eventually(t, "the route is as it was", accepted)

	c.set(t, cartPolicy("revocation: {epoch: 1}"))
	eventually(t, "a policy's edit is told", says("the sessions of a rule ended: spec.rules[0]: its epoch was 0 and is 1"))
	if _, at := ended(); at.Before(began) {
		t.Errorf("it is told as of %v, before %v", at, began)
	}
	c.setRingOf(t, secret, ring.JSON(t))
	second.AwaitLine(t, `.*fingerprints of the keys: k .*next.*`)
	c.setRingOf(t, secret, ring.Only("next").JSON(t))
	eventually(t, "a key that retires is told too", says(`its epoch was 0 and is 1; the key "k", with which they may be signed, is in the ring no more`))
	words, at := ended()
	second.Kill(t)
	second.ServeAgain(t)
	c.set(t, cartPolicy("revocation: {epoch: 1}, cookie: {sameSite: Lax}"))
	eventually(t, "it writes statuses again", func() bool {
		policy := object("limpet.dev/v1alpha1", "SessionPersistencePolicy", "default", "cart")
		return condition(c.get(t, policy), "Accepted", "status", "ancestors") == "True Accepted"
	})
	if now, since := ended(); now != words || !since.Equal(at) {
		t.Errorf("after a restart it says %q as of %v, and said %q as of %v", now, since, words, at)
	}
	c.set(t, cartPolicy("revocation: {epoch: 1}, cookie: {sameSite: Lax}, absoluteTimeout: 7h"))
	eventually(t, "what ends sessions after the restart is told behind what was before", says(
		words+"; later the sessions of a rule ended: spec.rules[0]: its absoluteTimeout was none and is 7h"))
	c.remove(t, object("limpet.dev/v1alpha1", "SessionPersistencePolicy", "default", "cart"))
}

// forgetRoute makes the shop's route again: what other tests have ended is in its status.
func (c *cluster) forgetRoute(t *testing.T, shop string) {
	t.Helper()
	c.remove(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "cart"))
	c.set(t, shop)
}

// cartPolicy is a policy for the shop's route.
func cartPolicy(spec string) string {
	return "apiVersion: limpet.dev/v1alpha1\nkind: SessionPersistencePolicy\nmetadata: {name: cart, namespace: default}\n" +
		"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}], " + spec + "}\n"
}

// endedOf gives what a route's condition says of sessions that have ended, and as of when; nothing for the generation of before.
func endedOf(route *unstructured.Unstructured) (words string, at time.Time) {
	c := findCondition(route, v1alpha1.ConditionSessionsEnded, "status", "parents")
	if c["observedGeneration"] != route.GetGeneration() {
		return "", time.Time{}
	}
	words, _ = c["message"].(string)
	text, _ := c["lastTransitionTime"].(string)
	at, _ = time.Parse(time.RFC3339, text)
	return words, at
}
