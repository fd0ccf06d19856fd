package behaviour

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

func startWasm(t *testing.T, config string, env map[string]string, clock func() time.Time) (wasmtest.Filter, error) {
	t.Helper()
	vm, err := wasmtest.Require(t).Start(context.Background(), wasmtest.Options{Config: []byte(config), Env: env, Now: clock})
	if err != nil {
		return nil, err
	}
	t.Cleanup(vm.Close)
	return vm, nil
}

// sessions are the counters of sessions by "POLICY OUTCOME".
func sessions(counters map[string]uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, n := range counters {
		if rest, ok := strings.CutPrefix(name, policyconfig.Sessions+".policy."); ok && n > 0 {
			policy, outcome, _ := strings.Cut(rest, ".outcome.")
			out[policy+" "+outcome] = n
		}
	}
	return out
}
