package kubernetes

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// asker has commands read a cluster, and notes what they ask its API server, and all that it answers.
type asker struct {
	server     *faultyServer
	kubeconfig string

	lock     sync.Mutex
	requests []string
	answers  bytes.Buffer
}

func newAsker(t *testing.T, c *cluster) *asker {
	t.Helper()
	a := &asker{}
	a.server, a.kubeconfig = newFaultyServer(t, c)
	a.server.proxy.ModifyResponse = func(r *http.Response) error {
		if r.StatusCode == http.StatusSwitchingProtocols {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(text))
		a.lock.Lock()
		defer a.lock.Unlock()
		a.answers.Write(text)
		return err
	}
	return a
}

// ask runs a command that gets a text, and gives what its API server was asked, which is to read alone.
func (a *asker) ask(t *testing.T, ring harness.Ring, stdin string, args ...string) (stdout, requests string) {
	t.Helper()
	note := func(_ http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("Accept-Encoding")
		a.lock.Lock()
		defer a.lock.Unlock()
		a.requests = append(a.requests, r.Method+" "+r.URL.String())
		return false
	}
	var out, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), harness.Find(t).Limpet, append(args, "--kubeconfig", a.kubeconfig)...)
	command.Env = []string{"LIMPET_KEYS=" + ring.JSON(t)}
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &out, &stderr
	var err error
	a.requests = nil
	a.server.during(note, func() { err = command.Run() })
	if err != nil && (args[0] != "status" || out.Len() == 0) { // which ends with 1 without an Envoy
		t.Errorf("limpet %s: %v\n%s%s", args[0], err, out.String(), stderr.String())
	}
	for _, r := range a.requests {
		if !strings.HasPrefix(r, "GET ") && !strings.Contains(r, "/portforward") {
			t.Errorf("limpet %s does not only read: %s", args[0], r)
		}
	}
	return out.String(), strings.Join(a.requests, "\n")
}

// checkAsked has all commands that read a cluster do so as who may read everything, where a Gateway names limpet's own Secrets for its
// certificates: no answer of the API server has the ring or what it is sealed under.
func (c *cluster) checkAsked(t *testing.T) {
	t.Helper()
	const scope = "HTTPRoute/asked/first/rule/only"
	var secrets []string
	for _, name := range []string{"limpet-keys", "limpet-root"} {
		data, _, _ := unstructured.NestedStringMap(c.get(t, object("v1", "Secret", "asked", name)).Object, "data")
		for _, value := range data {
			secrets = append(secrets, value)
		}
	}
	c.set(t, strings.NewReplacer("{name: http, protocol: HTTP, port: 80}",
		"{name: http, protocol: HTTP, port: 80}, {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: limpet-keys}, {name: limpet-root}]}}").
		Replace(asked))
	a, ring := newAsker(t, c), harness.NewRing("own")
	text := ring.Mint(t, scope, "10.0.0.1:8080", harness.Dates{})
	for _, one := range []struct {
		args  []string
		reads string
		says  string
	}{
		{[]string{"check", "-n", "asked", "--system-namespace", "asked"}, "/secrets?", "Gateway asked/edge"},
		{[]string{"describe", "httproute/asked/first", "--system-namespace", "asked"}, "/secrets?", "CART"},
		{[]string{"inspect", "-A", "--controller-name", "limpet.dev/asked"}, "/secrets?", "pinned"},
		{[]string{"revoke", "-A", "--controller-name", "limpet.dev/asked"}, "/secrets?", "revocation:"},
		{[]string{"ticket", "-A", "--controller-name", "limpet.dev/asked", scope}, "/secrets?", "1"},
		{[]string{"status", "-n", "asked"}, "/pods/one/portforward", "asked/edge"},
	} {
		stdout, requests := a.ask(t, ring, text, one.args...)
		if !strings.Contains(requests, one.reads) || !strings.Contains(stdout, one.says) {
			t.Errorf("limpet %s: it asks\n%s\nand says\n%s", one.args[0], requests, stdout)
		}
	}
	for _, value := range secrets {
		if len(value) < 40 || strings.Contains(a.answers.String(), value) {
			t.Errorf("one of limpet's own Secrets, with %d characters, is read, or has nothing in it", len(value))
		}
	}
}
