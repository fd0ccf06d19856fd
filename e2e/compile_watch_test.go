package e2e

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// elsewhereGateway is a Gateway of another namespace, at an address for documentation.
const elsewhereGateway = `
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: elsewhere, namespace: tenant}
spec:
  gatewayClassName: limpet
  addresses: [{type: IPAddress, value: 203.0.113.1}]
  listeners: [{name: http, protocol: HTTP, port: 8099}]
`

// TestCompileWatch: an Envoy that limpet does not run follows the folder; what it rejects is taken back, or left out where it is one
// listener of several: that of a namespace holds up no other's change. limpet may be away while the input changes. No session moves and no request fails.
func TestCompileWatch(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	w, envoy := harness.CompileWatching(t, harness.OneRoute(pods[:2], harness.CookieRule("cart", "pods")))
	clients := beginSessions(t, envoy, 12)
	tally := clients.During(func() {
		if said := w.Set(t, func(d *harness.Documents) { d.Services[0].Backends = pods }); !strings.Contains(said, "endpoints of default/pods:80") {
			t.Errorf("limpet says %q", said)
		}
		text := w.Documents.YAML(t)
		// An address for documentation, which is no address of this machine.
		elsewhere := strings.Replace(text, "  gatewayClassName: limpet\n", "  gatewayClassName: limpet\n  addresses: [{type: IPAddress, value: 203.0.113.1}]\n", 1)
		if said := w.SetText(t, elsewhere); elsewhere == text || !strings.Contains(said, "failed; the last good configuration keeps serving") {
			t.Errorf("limpet says %q", said)
		}
		if !strings.Contains(w.Output(), "Envoy rejects the listeners (lds.pb)") {
			t.Errorf("no word of the rejection: %s", w.Output())
		}
		said := w.Set(t, func(d *harness.Documents) {
			d.More = elsewhereGateway
			d.Services[0].Backends = pods[:2]
		})
		if !strings.Contains(said, "endpoints of default/pods:80") || !strings.Contains(w.Output(), "Gateway tenant/elsewhere does not listen on 203.0.113.1:8099") {
			t.Errorf("another namespace's Gateway at an address of no machine: limpet says %q\n%s", said, w.Output())
		}
		w.Set(t, func(d *harness.Documents) { d.Services[0].Backends = pods })
		w.Terminate(t)
		w.Edit(t, func(d *harness.Documents) {
			d.Routes = append(d.Routes, harness.Route{Name: "more", Rules: []harness.Rule{harness.PlainRule("more", "pods")}})
		})
		w.Again(t, envoy.Compiled)
		if !strings.Contains(w.Output(), "since the last time: live in ") {
			t.Errorf("limpet does not say what it did: %s", w.Output())
		}
		visit(t, envoy.Stranger(), "/more")
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	harness.RecordResult(t, "changes by limpet compile --watch, one of them rejected by Envoy, and a restart of limpet", harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Changes: 5, Faults: 3, Lost: tally.Moved(), Errors: tally.Failed(),
	})
}
