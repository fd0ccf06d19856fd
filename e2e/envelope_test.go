package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// envelopePolicies wrap what the applications of two rules set, and set a second cookie for a third.
const envelopePolicies = `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: app}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  sessionName: JSESSIONID
  envelope: true
  absoluteTimeout: 2m
  endSessionHeader: x-end
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: mcp}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: mcp}]
  type: Header
  sessionName: Mcp-Session-Id
  envelope: true
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: frame}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: frame}]
  sessionName: frame
  cookie: {crossSite: true, path: /frame}
`

// enveloped deploys them on three pods.
func enveloped(t *testing.T) (*harness.Envoy, []*harness.Backend) {
	t.Helper()
	pods := harness.Backends(t, "a", "b", "c")
	documents := harness.Documents{Services: []harness.Service{{Name: "pods", Backends: pods}}, More: envelopePolicies}
	for _, name := range []string{"app", "mcp", "frame"} {
		documents.Routes = append(documents.Routes, harness.Route{Name: name, Rules: []harness.Rule{harness.PlainRule(name, "pods")}})
	}
	return harness.Run(t, harness.Deployment{Documents: documents}), pods
}

// TestEnvelopes: an application's own cookie holds the pin, the application sees its own value and attributes, and loses neither
// when its host is lost or the token is void.
//
// requirements: S76, 2A.24
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	envoy, pods := enveloped(t)
	set := harness.ReplyHeader + ": Set-Cookie: JSESSIONID=node1.abc; Path=/app; HttpOnly; Max-Age=600"
	first := visit(t, envoy.Client(), "/app", set)
	line := first.Header.Get("Set-Cookie")
	if !strings.HasPrefix(line, "JSESSIONID=A") || !strings.HasSuffix(line, "; Path=/app; HttpOnly; Max-Age=600") || strings.Contains(line, "node1") {
		t.Errorf("Set-Cookie: %q", line)
	}
	text := wantToken(t, first, "JSESSIONID").Value
	for range 12 {
		r := visit(t, envoy.Stranger(), "/app", "Cookie: a=1; JSESSIONID="+text+"; b=2")
		if r.Backend != first.Backend || !slices.Equal(r.Seen.Headers["Cookie"], []string{"a=1; JSESSIONID=node1.abc; b=2"}) {
			t.Errorf("backend %s of %s sees %q", r.Backend, first.Backend, r.Seen.Headers["Cookie"])
		}
		wantNoToken(t, r, "JSESSIONID")
	}
	raw := visit(t, envoy.Stranger(), "/app", cookieLine("JSESSIONID", "node9.xyz"))
	if !slices.Equal(raw.Seen.Headers["Cookie"], []string{"JSESSIONID=node9.xyz"}) {
		t.Errorf("of a bare value the backend sees %q", raw.Seen.Headers["Cookie"])
	}
	// One has a length that no base64 has, and so is no envelope; of the other the signature is not right, and nothing else.
	body := len(text) - strings.Index(text, ".") - 1
	for _, forged := range []string{text[:len(text)-body%4-3], flipAt(text, len(text)-10)} {
		wantNoToken(t, visit(t, envoy.Stranger(), "/app", cookieLine("JSESSIONID", forged)), "JSESSIONID")
	}
	ended := visit(t, envoy.Stranger(), "/app", cookieLine("JSESSIONID", text), harness.ReplyHeader+": X-End: 1")
	if got := ended.Header.Get("Set-Cookie"); got != "JSESSIONID=; Path=/app; HttpOnly; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT" {
		t.Errorf("logout sets %q", got)
	}
	checkLostEnvelope(t, envoy, pods, first.Backend, text)
}

// flipAt gives a text of base64 with another character at a place.
func flipAt(text string, at int) string {
	other := "A"
	if text[at] == 'A' {
		other = "B"
	}
	return text[:at] + other + text[at+1:]
}

// checkLostEnvelope takes the session's host away.
func checkLostEnvelope(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend, home, text string) {
	for _, pod := range pods {
		if pod.Name == home {
			pod.Close()
		}
	}
	moved := visit(t, envoy.Stranger(), "/app", cookieLine("JSESSIONID", text))
	line := moved.Header.Get("Set-Cookie")
	if moved.Backend == home || !slices.Equal(moved.Seen.Headers["Cookie"], []string{"JSESSIONID=node1.abc"}) ||
		!strings.Contains(line, "; Path=/app; HttpOnly; Max-Age=") {
		t.Errorf("backend %s sees %q and the client gets %q", moved.Backend, moved.Seen.Headers["Cookie"], line)
	}
	text = wantToken(t, moved, "JSESSIONID").Value
	for range 8 {
		if r := visit(t, envoy.Stranger(), "/app", cookieLine("JSESSIONID", text)); r.Backend != moved.Backend {
			t.Errorf("after the move backend %s, then %s", moved.Backend, r.Backend)
		}
	}
	wantOutcomes(t, envoy, "JSESSIONID", map[string]uint64{"new": 1, "pinned": 20, "moved": 1, "ended": 1, "bad-signature": 1})
}

// TestHeaderEnvelopes: the same for a session header, as the Model Context Protocol has it.
//
// requirements: S76
func TestHeaderEnvelopes(t *testing.T) {
	t.Parallel()
	envoy, _ := enveloped(t)
	first := visit(t, envoy.Client(), "/mcp", harness.ReplyHeader+": Mcp-Session-Id: 1868a90c-1234")
	id := first.Header.Get("Mcp-Session-Id")
	for range 12 {
		r := visit(t, envoy.Stranger(), "/mcp", "Mcp-Session-Id: "+id)
		if r.Backend != first.Backend || !slices.Equal(r.Seen.Headers["Mcp-Session-Id"], []string{"1868a90c-1234"}) {
			t.Errorf("backend %s of %s sees %q", r.Backend, first.Backend, r.Seen.Headers["Mcp-Session-Id"])
		}
	}
	if !strings.HasPrefix(id, "AQ") {
		t.Errorf("the client has %q", id)
	}
}

// TestCrossSiteCookies: both cookies have one token, and either pins.
//
// requirements: S77
func TestCrossSiteCookies(t *testing.T) {
	t.Parallel()
	envoy, _ := enveloped(t)
	first := visit(t, envoy.Client(), "/frame")
	strict, second := wantToken(t, first, "frame"), wantToken(t, first, "frame-cross-site")
	if strict.Value != second.Value || !second.Secure || !second.Partitioned || second.Path != "/frame" ||
		!strings.Contains(second.Raw, "SameSite=None") || !strings.Contains(strict.Raw, "SameSite=Strict") {
		t.Errorf("%q", first.Header["Set-Cookie"])
	}
	for _, name := range []string{"frame", "frame-cross-site"} {
		for range 6 {
			if r := visit(t, envoy.Stranger(), "/frame", cookieLine(name, strict.Value)); r.Backend != first.Backend {
				t.Errorf("by %s backend %s, not %s", name, r.Backend, first.Backend)
			}
		}
	}
}
