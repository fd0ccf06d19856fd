// Package host is the only one that speaks proxy-wasm. It loads the plugin configuration, hands requests and
// responses to package session and carries out what that decides.
package host

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/limpet-proxy/limpet/filter/session"
)

// Register makes the plugin known to the proxy. It must be called from an init function.
func Register() { proxywasm.SetVMContext(&vm{}) }

type vm struct{ types.DefaultVMContext }

func (*vm) NewPluginContext(uint32) types.PluginContext { return &plugin{} }

// plugin is one loaded configuration in one worker.
type plugin struct {
	types.DefaultPluginContext
	engine   *session.Engine
	metrics  metrics
	logging  bool
	recycled []*stream
}

// OnPluginStart refuses a bad configuration with every error in the log; Envoy then keeps the one before, or
// answers 500 on the routes with the filter when there is none.
func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	data, err := proxywasm.GetPluginConfiguration()
	if err != nil && !errors.Is(err, types.ErrorStatusNotFound) {
		proxywasm.LogCriticalf("limpet: can't read the plugin configuration: %v", err)
		return types.OnPluginStartStatusFailed
	}
	cfg, engine, errs := Load(string(data), getenv, random)
	for _, e := range errs {
		proxywasm.LogCritical("limpet: plugin configuration: " + e.Error())
	}
	if len(errs) > 0 {
		return types.OnPluginStartStatusFailed
	}
	p.engine, p.logging = engine, cfg.AccessLog
	p.metrics.policies = make([]*counters, len(cfg.Policies))
	p.metrics.watchMemory()
	return types.OnPluginStartStatusOK
}

// OnPluginDone takes this worker's share out of the memory gauge.
func (p *plugin) OnPluginDone() bool {
	p.metrics.forgetMemory()
	return true
}

func random(b []byte) {
	if _, err := rand.Read(b); err != nil {
		panic("no randomness: " + err.Error())
	}
}

// NewHttpContext reuses the contexts of streams that ended.
func (p *plugin) NewHttpContext(uint32) types.HttpContext {
	if n := len(p.recycled); n > 0 {
		s := p.recycled[n-1]
		p.recycled = p.recycled[:n-1]
		return s
	}
	return &stream{plugin: p}
}

// maxRecycled bounds the contexts kept for reuse after a burst of concurrent streams.
const maxRecycled = 1024

// stream is one request and its response.
type stream struct {
	types.DefaultHttpContext
	plugin   *plugin
	policy   *session.Policy
	exchange session.Exchange
}

func (s *stream) OnHttpRequestHeaders(int, bool) types.Action {
	s.policy = nil
	route, err := proxywasm.GetProperty(routeName)
	if err != nil {
		return types.ActionContinue
	}
	if s.policy = s.plugin.engine.Policy(route, cluster); s.policy == nil {
		return types.ActionContinue
	}
	if outcome := s.exchange.Request(s.policy, requestHeaders{}, time.Now().Unix()); outcome.Void() {
		s.plugin.metrics.count(s.policy, outcome)
	}
	return types.ActionContinue
}

func (s *stream) OnHttpResponseHeaders(_ int, endOfStream bool) types.Action {
	if s.policy == nil {
		return types.ActionContinue
	}
	outcome := s.exchange.Response(responseHeaders{end: endOfStream}, time.Now().Unix())
	if outcome != session.None && !outcome.Void() {
		s.plugin.metrics.count(s.policy, outcome)
	}
	if s.plugin.logging {
		// Without this property access logs show "-", so a failure needs no handling.
		_ = proxywasm.SetProperty(filterState, []byte(outcome.Code()))
	}
	s.plugin.metrics.watchMemory()
	return types.ActionContinue
}

func (s *stream) OnHttpStreamDone() {
	if len(s.plugin.recycled) < maxRecycled {
		s.plugin.recycled = append(s.plugin.recycled, s)
	}
}

var (
	routeName   = []string{"xds", "route_name"}
	clusterName = []string{"xds", "cluster_name"}
	codeDetails = []string{"response", "code_details"}
	filterState = []string{"limpet"}
)

func cluster() []byte {
	name, err := proxywasm.GetProperty(clusterName)
	if err != nil {
		return nil
	}
	return name
}
