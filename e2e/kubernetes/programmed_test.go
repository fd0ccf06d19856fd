package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
	follower.AwaitSettled(t)
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

// TestClassDeleted: a GatewayClass that is deleted while Gateways name it serves them as before, and no others; it goes with the last of
// them, and people hear of what it waits for.
func TestClassDeleted(t *testing.T) {
	c, port := openShop(t, "10.244.12.1")
	c.set(t, doomedClass)
	c.set(t, doomedGateway("edge", port))
	serving := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default")
	envoy := serving.Bootstrap(t).Start(t)
	serving.AwaitSettled(t)
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
