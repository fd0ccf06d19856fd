package kubernetes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// TestProgrammed: a Gateway whose Envoys others run is Programmed when an Envoy has acknowledged its listeners, at whichever of two replicas,
// and not before; it is not any more once none has for longer than the grace, and "limpet status" ends with 1.
func TestProgrammed(t *testing.T) {
	c, port := openShop(t, "10.244.11.1")
	first := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default",
		"--programmed-grace", "1s")
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	is := func(want string) func() bool {
		return func() bool { return condition(c.get(t, gateway), "Programmed") == want }
	}
	words := func() string { return message(c.get(t, gateway), "Programmed") }
	eventually(t, "without an Envoy it is not programmed", is("False Pending"))
	if text := words(); !strings.Contains(text, "no Envoy has connected") {
		t.Errorf("the reason is %q", text)
	}
	listener := func() string { return condition(c.get(t, gateway), "Programmed", "status", "listeners") }
	if got := listener(); got != "False Pending" {
		t.Errorf("the listener's is %q", got)
	}
	if _, content := first.Status(t); content {
		t.Error("limpet status ends with 0, and there is no Envoy")
	}

	second := first.Another(t)
	follower := second
	if second.Metric(t, "limpet_status_writes_total") > 0 {
		follower = first
	}
	envoy := follower.Bootstrap(t).Start(t)
	follower.AwaitAcknowledged(t)
	eventually(t, "an Envoy of the replica that writes no statuses has acknowledged them", is("True Programmed"))

	if got := listener(); got != "True Programmed" {
		t.Errorf("the listener's is %q, and an Envoy has it", got)
	}

	envoy.Stop()
	eventually(t, "once it is gone, the Gateway is not programmed", is("False Pending"))
	if text := words(); !strings.Contains(text, "the last that had was seen at 2") {
		t.Errorf("the reason is %q", text)
	}
	again := follower.Bootstrap(t).Start(t)
	eventually(t, "another Envoy has come", is("True Programmed"))

	// Another leader knows what the Envoy of the other replica has.
	leader := first
	if follower == first {
		leader = second
	}
	leader.Kill(t)
	c.set(t, strings.Replace(shopAt(port), "listeners: [{name: http,", "listeners: [{name: renamed,", 1))
	eventually(t, "the leader is killed, and the other one writes the status", is("True Programmed"))
	if again.Stranger().Get(t, "/cart").Status != 200 {
		t.Error("it is programmed, and does not serve")
	}
}

// TestRoutesLeaveProgrammed: whatever becomes of routes, no status that is written of their Gateway says that it or a listener is not
// Programmed, not even for a moment: there is no grace.
func TestRoutesLeaveProgrammed(t *testing.T) {
	c, port := openShop(t, "10.244.11.2")
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default",
		"--programmed-grace", "0s")
	envoy := s.Bootstrap(t).Start(t)
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	now := func() *unstructured.Unstructured { return c.get(t, gateway) }
	routes := func(of *unstructured.Unstructured) any {
		listeners, _, _ := unstructured.NestedSlice(of.Object, "status", "listeners")
		return listeners[0].(map[string]any)["attachedRoutes"]
	}
	eventually(t, "an Envoy has its listener", func() bool { return condition(now(), "Programmed") == "True Programmed" })

	resource, err := c.resourceOf(gateway)
	if err != nil {
		t.Fatal(err)
	}
	written, err := resource.Watch(t.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=edge", ResourceVersion: now().GetResourceVersion(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer written.Stop()
	second := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "second")
	get := func(path string) int { return envoy.Stranger().Get(t, path).Status }
	attached := func(n int64) func() bool { return func() bool { return routes(now()) == n } }
	for range 3 {
		c.set(t, strings.NewReplacer("{name: cart, namespace: default}\nspec:\n  parentRefs", "{name: second, namespace: default}\nspec:\n  parentRefs",
			"value: /cart", "value: /second", "CART", "SECOND").Replace(shopAt(port)))
		eventually(t, "another route is served", func() bool { return get("/second") == http.StatusOK })
		eventually(t, "it is counted", attached(2))
		c.set(t, strings.Replace(shopAt(port), "value: /cart", "value: /moved", 1))
		eventually(t, "the first is changed", func() bool { return get("/moved") == http.StatusOK && get("/cart") == http.StatusNotFound })
		c.set(t, shopAt(port))
		c.remove(t, second)
		eventually(t, "the other is gone", func() bool { return get("/second") == http.StatusNotFound && get("/cart") == http.StatusOK })
		eventually(t, "it is not counted", attached(1))
	}
	last, count := now(), 0
	for count = 1; ; count++ {
		event := <-written.ResultChan()
		of, is := event.Object.(*unstructured.Unstructured)
		if !is {
			t.Fatalf("of the Gateway comes %v", event)
		}
		if own, of := condition(of, "Programmed"), condition(of, "Programmed", "status", "listeners"); own+of != "True ProgrammedTrue Programmed" {
			t.Errorf("status %d says %s, of the listener %s", count, own, of)
		}
		if of.GetResourceVersion() == last.GetResourceVersion() {
			break
		}
	}
	if count < 6 {
		t.Errorf("the status was written %d times, and routes came and went", count)
	}
}

// TestClassDeleted: a GatewayClass that is deleted while Gateways name it serves them as before, and no others; it goes with the last of
// them, and people hear of what it waits for.
func TestClassDeleted(t *testing.T) {
	c, port := openShop(t, "10.244.12.1")
	c.set(t, doomedClass)
	c.set(t, doomedGateway("edge", port))
	serving := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default")
	envoy := serving.Bootstrap(t).Start(t)
	serving.AwaitAcknowledged(t)
	class := object("gateway.networking.k8s.io/v1", "GatewayClass", "", "doomed")
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	eventually(t, "the class is protected", func() bool { return len(c.get(t, class).GetFinalizers()) == 1 })
	eventually(t, "it serves", func() bool { return envoy.Stranger().Get(t, "/cart").Status == 200 })
	c.remove(t, class)
	time.Sleep(1100 * time.Millisecond) // times of objects are in seconds
	c.set(t, doomedGateway("late", harness.FreePort(t)))
	late := object("gateway.networking.k8s.io/v1", "Gateway", "default", "late")
	serving.AwaitLine(t, `Gateway default/late: spec.gatewayClassName: .*its GatewayClass is being deleted.*`)
	eventually(t, "people hear of it", func() bool { return c.hasEvent(t, "doomed", "GatewaysExist", "default/edge") })
	if got := envoy.Stranger().Get(t, "/cart").Status; got != 200 || c.get(t, class) == nil {
		t.Errorf("the class is deleted, its Gateway is there, and a request gets %d", got)
	}
	c.remove(t, late)
	c.set(t, shopAt(port)) // whose Gateway has another class
	eventually(t, "the class goes with its last Gateway", func() bool { return c.get(t, class) == nil })
	eventually(t, "the Gateway is another class's", func() bool { return condition(c.get(t, gateway), "Programmed") == "True Programmed" })
	if got := envoy.Stranger().Get(t, "/cart").Status; got != 200 {
		t.Errorf("a request gets %d", got)
	}
}

// TestClassReleased: a GatewayClass that is released, by the command or by its annotation, is deleted at once while a Gateway names it, also
// once no limpet is there any more.
func TestClassReleased(t *testing.T) {
	c, port := openShop(t, "10.244.12.2")
	const controller = "limpet.dev/doomed" // so that no other class is released
	kubeconfig, doomed := c.Kubeconfig(standin.AdminToken), strings.Replace(doomedClass, "limpet.dev/gateway-controller", controller, 1)
	class := object("gateway.networking.k8s.io/v1", "GatewayClass", "", "doomed")
	finalizers := func(n int) func() bool { return func() bool { return len(c.get(t, class).GetFinalizers()) == n } }
	for name, release := range map[string]func(){
		"command": func() {
			if code, _, stderr := harness.Limpet(t, nil, "release-classes", "--kubeconfig", kubeconfig, "--controller-name", controller); code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
		},
		"annotation": func() {
			c.set(t, strings.Replace(doomed, "{name: doomed}", "{name: doomed, annotations: {limpet.dev/unprotected: 'true'}}", 1))
		},
	} {
		c.set(t, doomed)
		c.set(t, doomedGateway("edge", port))
		serving := harness.ServeCluster(t, kubeconfig, port, harness.NewRing("k"), "--system-namespace", "default", "--controller-name", controller)
		eventually(t, name+": the class is protected", finalizers(1))
		release()
		eventually(t, name+": the class is released", finalizers(0))
		c.set(t, doomedGateway("late", harness.FreePort(t)))
		late := object("gateway.networking.k8s.io/v1", "Gateway", "default", "late")
		eventually(t, name+": limpet has seen another Gateway", func() bool { return condition(c.get(t, late), "Accepted") == "True Accepted" })
		if !finalizers(0)() {
			t.Errorf("%s: the class is protected again", name)
		}
		serving.Kill(t)
		c.remove(t, class)
		eventually(t, name+": the class is gone", func() bool { return c.get(t, class) == nil })
		c.remove(t, late)
	}
	c.remove(t, object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "cart")) // with what that controller has said of it
	c.set(t, shopAt(port))
}

const doomedClass = `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: doomed}, spec: {controllerName: limpet.dev/gateway-controller}}`

// doomedGateway is a Gateway of that class.
func doomedGateway(name string, port int) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s, namespace: default}
spec:
  gatewayClassName: doomed
  listeners: [{name: http, protocol: HTTP, port: %d}]
`, name, port)
}
