package behaviour

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

type wasmPlugin struct{ vm *wasmtest.VM }

func startWasm(t *testing.T, config string, env map[string]string, clock func() time.Time) (plugin, error) {
	t.Helper()
	vm, err := wasmtest.Require(t).Start(context.Background(), wasmtest.Options{Config: []byte(config), Env: env, Now: clock})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { vm.Close() })
	return &wasmPlugin{vm}, nil
}

func (p *wasmPlugin) counts() map[string]uint64 {
	return sessions(p.vm.Counters())
}

// sessions are the counters of sessions by "POLICY OUTCOME".
func sessions(counters map[string]uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, n := range counters {
		if rest, ok := strings.CutPrefix(name, "limpet_sessions.policy."); ok && n > 0 {
			policy, outcome, _ := strings.Cut(rest, ".outcome.")
			out[policy+" "+outcome] = n
		}
	}
	return out
}

func (p *wasmPlugin) open(route, cluster string) stream { return p.openWith(route, cluster, "") }

func (p *wasmPlugin) openWith(route, cluster, policies string) stream {
	properties := map[string]string{"xds.route_name": route, "xds.cluster_name": cluster}
	if policies != "" {
		properties["xds.route_metadata.filter_metadata.limpet.policies"] = policies
	}
	return &wasmStream{p.vm.NewStream(properties)}
}

type wasmStream struct{ s *wasmtest.Stream }

func (s *wasmStream) request(h [][2]string) ([][2]string, error) {
	out, reply, err := s.s.RequestHeaders(h, true)
	if reply != nil && reply.Status == 503 && reply.Details == policyconfig.RefusedDetails {
		return nil, errRefused
	}
	return out, err
}

func (s *wasmStream) response(h [][2]string, details string, headersOnly bool) ([][2]string, error) {
	s.s.SetProperty("response.code_details", details)
	return s.s.ResponseHeaders(h, headersOnly)
}

func (s *wasmStream) setBackend(tag string) {
	if tag != "" {
		s.s.SetProperty("xds.upstream_host_metadata.filter_metadata.limpet.limpet.backend", tag)
	}
}

func (s *wasmStream) logged() string { return s.s.FilterState()["limpet"] }

func (s *wasmStream) states() map[string]string {
	all := s.s.FilterState()
	delete(all, "limpet")
	return all
}

func (s *wasmStream) attempted(times int) {
	s.s.SetProperty("upstream.request_attempt_count", string([]byte{byte(times), 0, 0, 0, 0, 0, 0, 0}))
}

func (s *wasmStream) close() { s.s.Close() }
