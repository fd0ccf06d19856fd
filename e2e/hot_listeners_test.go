package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// comings are random edits of which ports a Gateway listens on. None of them is no Gateway at all.
type comings struct {
	*harness.Watching
	random *rand.Rand
	ring   harness.Ring
	ports  []int // that there may be
	now    []int
	rest   string // the documents besides the Gateway
	homes  map[int]sessionHome
}

// sessionHome is where a port's session is.
type sessionHome struct {
	jar     *harness.Jar
	backend string
}

// TestListenersComeAndGo takes listeners away and brings them back at random moments, so within the time for which Envoy
// drains them, which is its default of ten minutes: after each edit, what the input says is served, and no session moves.
func TestListenersComeAndGo(t *testing.T) {
	t.Parallel()
	comeAndGo(t, 10*time.Minute)
}

// TestListenersComeBackDrained is the same where listeners have drained by then, or just now.
func TestListenersComeBackDrained(t *testing.T) {
	t.Parallel()
	comeAndGo(t, time.Second)
}

func comeAndGo(t *testing.T, drain time.Duration) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := newComings(t, drain, seed)
	c.wantServed(t)
	edits, signing := harness.Size(25, 150), []string{"k0", "k1"}
	for n := range edits {
		c.edit(t)
		if n%7 == 6 { // with a key that has nothing to do with it
			slices.Reverse(signing)
			c.WriteKeys(t, c.ring.Only(signing...).JSON(t))
		}
		time.Sleep(time.Duration(c.random.IntN(1200)) * time.Millisecond)
		if c.random.IntN(3) > 0 || n == edits-1 {
			c.wantServed(t)
		}
	}
	if strings.Contains(c.Output(), "failed;") || strings.Contains(c.Output(), "not live as a whole") {
		t.Errorf("limpet says\n%s", c.Output())
	}
	harness.RecordResult(t, fmt.Sprintf("listeners that go and come back, drained for %v (limpet run)", drain),
		harness.Result{Changes: edits, Note: "after each, the input is served"})
}

func newComings(t *testing.T, drain time.Duration, seed uint64) *comings {
	t.Helper()
	ports := []int{harness.FreePort(t), harness.FreePort(t), harness.FreePort(t)}
	documents := harness.OneRoute(harness.Backends(t, "a", "b", "c"), harness.CookieRule("cart", "pods"))
	documents.Port = ports[0]
	c := &comings{
		random: rand.New(rand.NewPCG(seed, 1)), ring: harness.NewRing("k0", "k1"),
		ports: ports, now: ports[:1], homes: map[int]sessionHome{},
	}
	before, after, found := strings.Cut(documents.YAML(t), "  listeners:\n")
	_, after, cut := strings.Cut(after, "\n---\n")
	if !found || !cut {
		t.Fatal("the documents have no listeners")
	}
	c.rest = before + "  listeners:\nLISTENERS---\n" + after
	c.Watching = harness.RunDraining(t, drain, documents, c.ring, "--allow-empty")
	return c
}

// edit puts other listeners into place, and does not wait.
func (c *comings) edit(t *testing.T) {
	t.Helper()
	c.now = nil
	for _, port := range c.ports {
		if c.random.IntN(2) == 0 {
			c.now = append(c.now, port)
		}
	}
	c.WriteText(t, c.text())
}

// text is the input with the listeners of now.
func (c *comings) text() string {
	if len(c.now) == 0 { // Gateways have at least one
		documents := slices.DeleteFunc(strings.Split(c.rest, "\n---\n"), func(document string) bool {
			return strings.Contains(document, "kind: Gateway\n")
		})
		return strings.Join(documents, "\n---\n")
	}
	var listeners strings.Builder
	for _, port := range c.now {
		fmt.Fprintf(&listeners, "  - {name: p%d, protocol: HTTP, port: %[1]d}\n", port)
	}
	return strings.Replace(c.rest, "LISTENERS", listeners.String(), 1)
}

// wantServed waits until exactly the ports of now answer, each with the session that it began with.
func (c *comings) wantServed(t *testing.T) {
	t.Helper()
	for _, port := range c.ports {
		listens := slices.Contains(c.now, port)
		waitWithin(t, 15*time.Second, fmt.Sprintf("port %d answers: %t; limpet says\n%s", port, listens, c.Output()), func() bool {
			response, err := harness.NewClient(port).Try(http.MethodGet, "/cart", quietly)
			return (err == nil && response.Status == http.StatusOK) == listens
		})
		if listens {
			c.stays(t, port)
		}
	}
}

// stays uses the session of a port, over a new connection.
func (c *comings) stays(t *testing.T, port int) {
	t.Helper()
	client := harness.NewClient(port)
	home, known := c.homes[port]
	if known {
		client.Jar = home.jar
	}
	got := visit(t, client, "/cart").Backend
	if known && got != home.backend {
		t.Errorf("port %d: the session is on %s, and was on %s", port, got, home.backend)
	}
	c.homes[port] = sessionHome{client.Jar, got}
}
