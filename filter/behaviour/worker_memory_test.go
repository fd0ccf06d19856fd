package behaviour

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// TestWorkerMemory: of 10,000 policies that come with their routes a worker keeps those that are used, which with 100 of
// them takes at most a fifth of what it takes when all stand in the plugin configuration.
func TestWorkerMemory(t *testing.T) {
	const all, used = 10_000, 100
	whole := measureMemory(t, all, func(vm *wasmtest.VM, i int) *wasmtest.Stream {
		return vm.NewStream(map[string]string{"xds.route_name": routeOf(i)})
	}, used)
	carried := measureMemory(t, 0, func(vm *wasmtest.VM, i int) *wasmtest.Stream {
		p := policyconfig.DefaultPolicy()
		p.Name, p.Routes, p.SessionName = fmt.Sprintf("default/app-%d/rule/0", i), []string{routeOf(i)}, "cart"
		name, text, err := policyconfig.WriteRoute(routeOf(i), []policyconfig.Policy{p}, pinHeader)
		if err != nil {
			t.Fatal(err)
		}
		return vm.NewStream(map[string]string{"xds.route_name": name, "xds.route_metadata.filter_metadata.limpet.policies": text})
	}, used)
	t.Logf("%d kB in the plugin configuration, %d kB with their routes", whole>>10, carried>>10)
	if 5*carried > whole {
		t.Errorf("a worker has %d kB where all policies stood in its configuration, and %d kB now, want at most a fifth", whole>>10, carried>>10)
	}
}

// TestMemoryOfSealedScopes: a worker all of whose 10,000 routes bring the keys of a scope of their own, under a ring of two keys, has at
// most a quarter more than with the ring; and rotations add at most as much again, however many, for what it keeps is bounded.
func TestMemoryOfSealedScopes(t *testing.T) {
	const all = 10_000
	root := limpetsRoot.ForGateway(gatewayID)
	var rings []*token.Ring
	for _, ids := range [][2]string{{"a", "b"}, {"c", "a"}, {"d", "c"}, {"e", "d"}} {
		ring, err := token.NewRing([]token.Key{{ID: ids[0], Secret: []byte(strings.Repeat(ids[0], 32))}, {ID: ids[1], Secret: []byte(strings.Repeat(ids[1], 32))}})
		noError(t, err)
		rings = append(rings, ring)
	}
	open := func(keyed bool) func(*wasmtest.VM, int) *wasmtest.Stream {
		return func(vm *wasmtest.VM, i int) *wasmtest.Stream {
			p, route := policyconfig.DefaultPolicy(), routeOf(i%all)
			p.Name, p.Routes, p.SessionName = strings.TrimPrefix(route, "httproute/"), []string{route}, "cart"
			name, text, err := policyconfig.WriteRoute(route, []policyconfig.Policy{p}, pinHeader)
			noError(t, err)
			if keyed {
				sealed, err := rings[i/all].SealScope(&root, p.Name)
				noError(t, err)
				name, text = policyconfig.KeyRoute(name, text, []string{sealed})
			}
			return vm.NewStream(map[string]string{"xds.route_name": name, "xds.route_metadata.filter_metadata.limpet.policies": text})
		}
	}
	ring := map[string]string{"LIMPET_KEYS": `{"keys":[{"id":"a","secret":"` + secretA + `"},{"id":"b","secret":"` + secretB + `"}]}`}
	with := measureMemoryOf(t, `{"version":"limpet.dev/v1","policies":[]}`, ring, open(false), all)
	const ringless = `{"version":"limpet.dev/v1","keys":{"gateway":"` + gatewayID + `"},"policies":[]}`
	sealed := measureMemoryOf(t, ringless, map[string]string{"LIMPET_ROOT": root.Text()}, open(true), all)
	rotated := measureMemoryOf(t, ringless, map[string]string{"LIMPET_ROOT": root.Text()}, open(true), 4*all)
	t.Logf("%d kB with the ring, %d kB with keys of scopes, %d kB after three rotations", with>>10, sealed>>10, rotated>>10)
	if 4*sealed > 5*with || rotated > 2*sealed {
		t.Error("that is too much")
	}
}

func routeOf(i int) string { return fmt.Sprintf("httproute/default/app-%d/rule/0", i) }

// measureMemory gives the linear memory of a worker with so many policies in its configuration, some of which are used.
func measureMemory(t *testing.T, policies int, open func(*wasmtest.VM, int) *wasmtest.Stream, used int) uint32 {
	t.Helper()
	var list []string
	for i := range policies {
		list = append(list, policy(fmt.Sprintf("default/app-%d/rule/0", i), routeOf(i), `"sessionName":"cart"`))
	}
	return measureMemoryOf(t, `{"version":"limpet.dev/v1","policies":[`+strings.Join(list, ",")+`]}`, map[string]string{"LIMPET_KEYS": ringA}, open, used)
}

func measureMemoryOf(t *testing.T, config string, env map[string]string, open func(*wasmtest.VM, int) *wasmtest.Stream, used int) uint32 {
	t.Helper()
	vm, err := wasmtest.Require(t).Start(context.Background(), wasmtest.Options{Config: []byte(config), Env: env})
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	for i := range used {
		s := open(vm, i)
		if _, _, err := s.RequestHeaders([][2]string{{":method", "GET"}, {":path", "/"}}, true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ResponseHeaders([][2]string{{":status", "200"}}, false); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	return vm.MemoryBytes()
}
