package istio

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"istio.io/istio/pilot/pkg/features"
)

// TestEveryPieceIsNeeded takes one piece at a time out of what limpet wrote; the check that it is for must then fail.
func TestEveryPieceIsNeeded(t *testing.T) {
	for piece, c := range map[string]struct {
		without func([]object) []object
		fails   check
	}{
		"WasmPlugin":                       {without: withoutKind("WasmPlugin"), fails: sticks},
		"EnvoyFilter":                      {without: withoutKind("EnvoyFilter"), fails: sticks},
		"the session filter":               {without: withoutPatch("HTTP_FILTER", "limpet.stateful_session"), fails: sticks},
		"the session filter on the routes": {without: withoutPatch("HTTP_ROUTE", "typed_per_filter_config"), fails: sticks},
		"the fence":                        {without: withoutFenceAndPlugin, fails: fencedFromClients},
		"the fence of answers":             {without: withoutLateFenceAndPlugin, fails: keepsPin},
		"the fence before the filters":     {without: withoutPatch("ROUTE_CONFIGURATION", "response_headers_to_remove"), fails: fencedFromBackends},
		"the pin's end at the router":      {without: withoutKey("request_headers_to_remove"), fails: keepsPin},
	} {
		t.Run(piece, func(t *testing.T) {
			d := onGatewayAPI(t, 3, 0)
			d.change = c.without
			m := run(t, d)
			if err := c.fails(t, m); err == nil {
				t.Errorf("without %s the check passes all the same", piece)
			}
		})
	}
}

// withoutFenceAndPlugin takes both fences out, and the plugin, which keeps a client's pin out as well where it runs.
func withoutFenceAndPlugin(all []object) []object {
	return withoutPatch("NETWORK_FILTER", "limpet.fence")(withoutLateFenceAndPlugin(all))
}

// withoutLateFenceAndPlugin leaves the fence before the choice of the route, which sees requests alone.
func withoutLateFenceAndPlugin(all []object) []object {
	return withoutPatch("HTTP_FILTER", "limpet.fence")(withoutKind("WasmPlugin")(all))
}

// TestFenceHoldsAlone: while the plugin is away the fence keeps clients' pins out by itself, and its own from clients; the plugin does so
// without the fence.
func TestFenceHoldsAlone(t *testing.T) {
	for gone, without := range map[string]func([]object) []object{
		"the plugin": withoutKind("WasmPlugin"), "the fence": withoutPatch("HTTP_FILTER", "limpet.fence"),
	} {
		t.Run(gone, func(t *testing.T) {
			d := onGatewayAPI(t, 3, 0)
			d.change = without
			m := run(t, d)
			if err := errors.Join(fencedFromClients(t, m), keepsPin(t, m)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestClusterSettingsAreNeeded: Istio lets sessions stay on hosts that drain for whole Services only, not for subsets.
func TestClusterSettingsAreNeeded(t *testing.T) {
	d := onSubset(t)
	if err := staysOnDraining(t, run(t, d)); err != nil {
		t.Error(err)
	}
	d = onSubset(t)
	d.change = withoutPatch("CLUSTER", "override_host_status")
	if err := staysOnDraining(t, run(t, d)); err == nil {
		t.Error("without the clusters' settings the check passes all the same")
	}
}

// onSubset deploys the shop with a subset of all hosts.
func onSubset(t *testing.T) deployment {
	t.Helper()
	d := onVirtualService(t, "")
	d.input = swap(t, d.input, "route: [{destination: {host: be.app.internal}}]", "route: [{destination: {host: be.app.internal, subset: one}}]")
	d.input = swap(t, d.input, "{name: be, namespace: app}", "{name: be, namespace: app, labels: {istio.io/persistent-session: limpet}}")
	d.input += subsets
	for _, b := range d.backends {
		d.input = labelled(d.input, b, "half: one")
	}
	return d
}

// labelled gives a host of the ServiceEntry labels.
func labelled(input string, b *backend, labels string) string {
	port := fmt.Sprintf("{http: %d}", b.port())
	before, after, _ := strings.Cut(input, port)
	if _, rest, has := strings.Cut(after, "}"); has && strings.HasPrefix(after, ", labels: ") {
		after = rest
	}
	return before + port + ", labels: {" + labels + "}" + after
}

// staysOnDraining: a session stays on a host that begins to drain, and new ones go elsewhere.
func staysOnDraining(t *testing.T, m *world) error {
	c := m.newClient()
	first := c.request(t, "/cart/add")
	input := labelled(m.input, m.holder(t, first.backend), `half: one, istio.io/draining: "true"`)
	for _, o := range documents(t, input) {
		if o["kind"] == "ServiceEntry" {
			m.update(t, dump(t, []object{o}))
		}
	}
	eventually(t, "new sessions avoid the host that drains", func() bool { return !m.spread(t, "/cart/add")[first.backend] })
	for range rounds {
		if a := c.request(t, "/cart/add"); a.backend != first.backend {
			return fmt.Errorf("the session went to %s", a.backend)
		}
	}
	return nil
}

func withoutKind(kind string) func([]object) []object {
	return func(all []object) []object {
		return slices.DeleteFunc(all, func(o object) bool { return o["kind"] == kind })
	}
}

// withoutPatch takes out the patches of a kind that mention a text.
func withoutPatch(applyTo, mentions string) func([]object) []object {
	return eachPatch(func(patch object) bool {
		return patch["applyTo"] == applyTo && strings.Contains(fmt.Sprint(patch["patch"]), mentions)
	})
}

// withoutKey takes a field out of the values of all patches.
func withoutKey(key string) func([]object) []object {
	return eachPatch(func(patch object) bool {
		value, _ := patch["patch"].(object)["value"].(object)
		delete(value, key)
		return false
	})
}

// eachPatch drops the patches of EnvoyFilters for which drop says so.
func eachPatch(drop func(object) bool) func([]object) []object {
	return func(all []object) []object {
		for _, o := range all {
			spec, _ := o["spec"].(object)
			patches, is := spec["configPatches"].([]any)
			if is {
				spec["configPatches"] = slices.DeleteFunc(patches, func(p any) bool { return drop(p.(object)) })
			}
		}
		return all
	}
}

// TestNativePin has Istio's own persistent sessions pin, by the label that limpet writes.
func TestNativePin(t *testing.T) {
	features.EnablePersistentSessionFilter.Store(true)
	t.Cleanup(func() { features.EnablePersistentSessionFilter.Store(false) })
	d := onGatewayAPI(t, 3, 0)
	d.input = swap(t, d.input, "labels: {istio.io/persistent-session: limpet}", "labels: {app: be}")
	d.flags = append(d.flags, "--istio=native-pin=true")
	run(t, d).passes(t)
}

// TestNativePinNeedsItsLabel takes the Service with the label away.
func TestNativePinNeedsItsLabel(t *testing.T) {
	features.EnablePersistentSessionFilter.Store(true)
	t.Cleanup(func() { features.EnablePersistentSessionFilter.Store(false) })
	d := onGatewayAPI(t, 3, 0)
	d.input = swap(t, d.input, "labels: {istio.io/persistent-session: limpet}", "labels: {app: be}")
	d.flags, d.change = append(d.flags, "--istio=native-pin=true"), withoutKind("Service")
	if err := sticks(t, run(t, d)); err == nil {
		t.Error("sessions stick without the label")
	}
}
