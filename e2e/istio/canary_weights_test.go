package istio

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCanaryWeights has sessions at each version through random weights, 0 and 100 among them, which change in the cluster alone.
func TestCanaryWeights(t *testing.T) {
	first := [3]int{60, 30, 10}
	eachCanary(t, split{weights: first}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.checkShares(t, first)
		random := rand.New(rand.NewPCG(36, 36))
		for i := range changes() {
			part := random.IntN(101)
			weights := [][3]int{{0, 100, 0}, {100, 0, 0}, {0, 0, 100}, {part, 100 - part, 0}}[i%4]
			c.weigh(t, weights)
			c.checkKept(t, "while weights change", allVersions...)
			if i < 4 {
				c.awaitWeights(t, weights)
				c.checkKept(t, fmt.Sprint("at ", weights), allVersions...)
			}
		}
	})
}

// changes is how often weights change; 200 times with LIMPET_LONG.
func changes() int {
	if os.Getenv("LIMPET_LONG") != "" {
		return 200
	}
	return 50
}

// TestCanaryBackends scales a version to no host and back: the others' sessions stay, its own get one error at the most and go by the
// weights. Hosts that drain keep their sessions. And a host that is lost leaves its sessions to another of its version.
func TestCanaryBackends(t *testing.T) {
	weights := [3]int{40, 40, 20}
	eachCanary(t, split{weights: weights}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.weigh(t, [3]int{50, 50, 0})
		c.awaitWeights(t, [3]int{50, 50, 0})
		c.scale(t, 2, 0, 0)
		eventually(t, "Envoy has no host of the version", func() bool { return c.served(t, c.backends[4]) == 0 })
		c.checkKept(t, "while a version has no host", "v1", "v2")
		c.checkOneError(t, "old")
		c.checkKept(t, "after the error", "v1", "v2")
		c.scale(t, 2, 1, 0)
		c.weigh(t, weights)
		c.awaitWeights(t, weights)
		c.begin(t)
		c.checkKept(t, "when it is back", allVersions...)
		c.checkDrains(t)
		c.checkLostHost(t)
		c.checkKept(t, "when a host is lost", "v1", "old")
	})
}

// checkLostHost has the host of the session in v2 refuse connections: the session goes to the other host of v2.
func (c *canary) checkLostHost(t *testing.T) {
	t.Helper()
	at := c.sessions["v2"].request(t, "/cart/add").backend
	c.holder(t, at).server.Close()
	for range rounds {
		if a := c.sessions["v2"].request(t, "/cart/add"); a.status != http.StatusOK || c.of[a.backend] != "v2" || a.backend == at {
			t.Fatalf("a session of a lost host in v2: status %d from %q", a.status, a.backend)
		}
	}
}

// checkDrains has a host of v1 drain: its session stays, no new one goes there.
func (c *canary) checkDrains(t *testing.T) {
	t.Helper()
	const at = "127.0.0.3"
	var one *client
	eventually(t, "a session is on the host", func() bool {
		one = c.newClient()
		return strings.HasPrefix(one.request(t, "/cart/add").backend, at+":")
	})
	c.scale(t, 0, 2, 1)
	eventually(t, "new sessions avoid the host", func() bool {
		for host := range c.spread(t, "/cart/add") {
			if strings.HasPrefix(host, at+":") {
				return false
			}
		}
		return true
	})
	for range rounds {
		if a := one.request(t, "/cart/add"); !strings.HasPrefix(a.backend, at+":") || a.cookie != "" {
			t.Fatalf("a session of a host that drains: status %d from %s, cookie %q", a.status, a.backend, a.cookie)
		}
	}
	c.scale(t, 0, 2, 0)
}

// TestCanaryWithoutAService takes the Service of a version away and brings it back: Istio has no cluster for its copy meanwhile.
func TestCanaryWithoutAService(t *testing.T) {
	weights := [3]int{40, 40, 20}
	eachCanary(t, split{weights: weights}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.weigh(t, [3]int{50, 50, 0})
		c.awaitWeights(t, [3]int{50, 50, 0})
		services := c.server.KubeClient().Kube().CoreV1().Services("app")
		gone, err := services.Get(context.Background(), "old", metav1.GetOptions{})
		if err == nil {
			err = services.Delete(context.Background(), "old", metav1.DeleteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "Envoy has no cluster of the version", func() bool {
			return !strings.Contains(c.envoy.get(t, "/clusters"), "outbound|80||old.app.svc.cluster.local::")
		})
		c.checkKept(t, "without the Service", "v1", "v2")
		c.checkOneError(t, "old")
		gone.ResourceVersion = ""
		if _, err := services.Create(context.Background(), gone, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.weigh(t, weights)
		c.awaitWeights(t, weights)
		c.checkKept(t, "when it is back", "v1", "v2")
		c.begin(t)
		c.checkKept(t, "with sessions at all", allVersions...)
	})
}

// checkOneError wants a session of a version without hosts to go on in another after one error.
func (c *canary) checkOneError(t *testing.T, version string) {
	t.Helper()
	wrong, on := 0, map[string]bool{}
	for range 2 * rounds {
		if a := c.sessions[version].request(t, "/cart/add"); a.status == http.StatusOK {
			on[a.backend] = true
		} else {
			wrong++
		}
	}
	if wrong > 1 || len(on) != 1 {
		t.Errorf("%d requests had errors, and then the session went to %v", wrong, on)
	}
}
