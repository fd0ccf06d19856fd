package behaviour

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
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

func routeOf(i int) string { return fmt.Sprintf("httproute/default/app-%d/rule/0", i) }

// measureMemory gives the linear memory of a worker with so many policies in its configuration, some of which are used.
func measureMemory(t *testing.T, policies int, open func(*wasmtest.VM, int) *wasmtest.Stream, used int) uint32 {
	t.Helper()
	var list []string
	for i := range policies {
		list = append(list, policy(fmt.Sprintf("default/app-%d/rule/0", i), routeOf(i), `"sessionName":"cart"`))
	}
	vm, err := wasmtest.Require(t).Start(context.Background(), wasmtest.Options{
		Config: []byte(`{"version":"limpet.dev/v1","policies":[` + strings.Join(list, ",") + `]}`), Env: map[string]string{"LIMPET_KEYS": ringA},
	})
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
