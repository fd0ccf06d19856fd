// Package behaviour holds the filter's behaviour tests. Each runs twice: on the decisions compiled natively, and on
// the shipped limpet.wasm under wazero.
package behaviour

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/host"
	"github.com/limpet-proxy/limpet/filter/session"
	"github.com/limpet-proxy/limpet/filter/wasmtest"
)

// plugin is the filter as a proxy sees it.
type plugin interface {
	// open begins a stream on a route whose requests go to the cluster.
	open(route, cluster string) stream
	// counts are the counters by "POLICY OUTCOME".
	counts() map[string]uint64
}

// stream is one request and its response; header lists go in and come out.
type stream interface {
	request(h [][2]string) ([][2]string, error)
	response(h [][2]string, details string, headersOnly bool) ([][2]string, error)
	// logged is the outcome's code for access logs, "" when there is none.
	logged() string
	close()
}

// each runs the test on the native and on the wasm plugin.
func each(t *testing.T, config string, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("native", func(t *testing.T) { test(t, newWorld(t, config, startNative)) })
	t.Run("wasm", func(t *testing.T) { test(t, newWorld(t, config, startWasm)) })
}

// start loads a configuration; clock and env are what the plugin sees. The error has the plugin's log.
type start func(t *testing.T, config string, env map[string]string, clock func() time.Time) (plugin, error)

type nativePlugin struct {
	engine *session.Engine
	clock  func() time.Time
	log    bool
	count  map[string]uint64
}

func startNative(t *testing.T, config string, env map[string]string, clock func() time.Time) (plugin, error) {
	t.Helper()
	source := rand.NewChaCha8([32]byte{})
	random := func(b []byte) { _, _ = source.Read(b) }
	cfg, engine, errs := host.Load(config, func(k string) string { return env[k] }, random)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &nativePlugin{engine: engine, clock: clock, log: cfg.AccessLog, count: map[string]uint64{}}, nil
}

func (p *nativePlugin) counts() map[string]uint64 { return p.count }

func (p *nativePlugin) open(route, cluster string) stream {
	return &nativeStream{plugin: p, policy: p.engine.Policy(route, func() string { return cluster })}
}

type nativeStream struct {
	plugin   *nativePlugin
	policy   *session.Policy
	exchange session.Exchange
	outcome  session.Outcome
}

func (s *nativeStream) request(h [][2]string) ([][2]string, error) {
	if s.policy == nil {
		return h, nil
	}
	l := &list{lines: h}
	if o := s.exchange.Request(s.policy, l, s.plugin.clock().Unix()); o.Void() {
		s.plugin.count[s.policy.Name+" "+o.String()]++
	}
	return l.lines, nil
}

func (s *nativeStream) response(h [][2]string, details string, headersOnly bool) ([][2]string, error) {
	if s.policy == nil {
		return h, nil
	}
	l := &list{lines: h, details: details, headersOnly: headersOnly, clock: s.plugin.clock}
	s.outcome = s.exchange.Response(l)
	if s.outcome != session.None && !s.outcome.Void() {
		s.plugin.count[s.policy.Name+" "+s.outcome.String()]++
	}
	return l.lines, nil
}

func (s *nativeStream) logged() string {
	if s.policy == nil || !s.plugin.log {
		return ""
	}
	return s.outcome.Code()
}

func (s *nativeStream) close() {}

// list is a header map for the native plugin.
type list struct {
	lines       [][2]string
	details     string
	headersOnly bool
	clock       func() time.Time
}

func (l *list) Get(name string) (string, bool) { return first(l.lines, name) }
func (l *list) All() [][2]string               { return l.lines }
func (l *list) Add(name, value string) {
	l.lines = append(l.lines, [2]string{name, strings.Clone(value)})
}
func (l *list) Remove(name string)  { l.lines = without(l.lines, name) }
func (l *list) CodeDetails() string { return l.details }
func (l *list) HeadersOnly() bool   { return l.headersOnly }
func (l *list) Prefetch()           {}
func (l *list) Now() int64          { return l.clock().Unix() }

func (l *list) Set(name, value string) {
	l.Remove(name)
	l.Add(name, value)
}

func first(lines [][2]string, name string) (string, bool) {
	for _, kv := range lines {
		if kv[0] == name {
			return kv[1], true
		}
	}
	return "", false
}

func values(lines [][2]string, name string) (out []string) {
	for _, kv := range lines {
		if kv[0] == name {
			out = append(out, kv[1])
		}
	}
	return out
}

func without(lines [][2]string, name string) (out [][2]string) {
	for _, kv := range lines {
		if kv[0] != name {
			out = append(out, kv)
		}
	}
	return out
}

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
	out := map[string]uint64{}
	for name, n := range p.vm.Counters() {
		rest := strings.TrimPrefix(name, "limpet_sessions.policy.")
		policy, outcome, _ := strings.Cut(rest, ".outcome.")
		out[policy+" "+outcome] = n
	}
	return out
}

func (p *wasmPlugin) open(route, cluster string) stream {
	return &wasmStream{p.vm.NewStream(map[string]string{"xds.route_name": route, "xds.cluster_name": cluster})}
}

type wasmStream struct{ s *wasmtest.Stream }

func (s *wasmStream) request(h [][2]string) ([][2]string, error) {
	out, _, err := s.s.RequestHeaders(h, true)
	return out, err
}

func (s *wasmStream) response(h [][2]string, details string, headersOnly bool) ([][2]string, error) {
	s.s.SetProperty("response.code_details", details)
	return s.s.ResponseHeaders(h, headersOnly)
}

func (s *wasmStream) logged() string { return s.s.FilterState()["limpet"] }
func (s *wasmStream) close()         { s.s.Close() }
