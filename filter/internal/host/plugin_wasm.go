//go:build tinygo.wasm

package host

import (
	"crypto/rand"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// plugin is one loaded configuration in one worker.
type plugin struct {
	engine    *session.Engine
	pinHeader string
	metrics   metrics
	logging   bool
	recycled  []*stream
}

// start refuses a bad configuration with every error in the log; Envoy then keeps the one before, or answers 500 on
// the routes with the filter when there is none.
func (p *plugin) start(configuration string) types.OnPluginStartStatus {
	cfg, engine, errs := session.Load(configuration, readEnv, session.Proxy{Random: readRandom, AppendPin: appendPin})
	for _, e := range errs {
		logCritical("limpet: plugin configuration: " + e.Error())
	}
	if len(errs) > 0 {
		return types.OnPluginStartStatusFailed
	}
	p.engine, p.pinHeader, p.logging = engine, cfg.PinHeader, cfg.AccessLog
	p.metrics.policies = make([]*counters, len(cfg.Policies))
	defineLasting()
	return types.OnPluginStartStatusOK
}

func readRandom(b []byte) {
	if _, err := rand.Read(b); err != nil {
		panic("no randomness: " + err.Error())
	}
}

// stream begins a stream. It reuses those that ended.
func (p *plugin) stream() *stream {
	if n := len(p.recycled); n > 0 {
		s := p.recycled[n-1]
		p.recycled = p.recycled[:n-1]
		return s
	}
	return &stream{plugin: p}
}

// maxRecycled bounds the streams kept for reuse after a burst of concurrent ones.
const maxRecycled = 1024

func (p *plugin) recycle(s *stream) {
	s.policy = nil
	if len(p.recycled) < maxRecycled {
		p.recycled = append(p.recycled, s)
	}
}

// stream is one request and its response.
type stream struct {
	plugin   *plugin
	policy   *session.Policy
	exchange session.Exchange
}

func (s *stream) onRequest() {
	s.policy = nil
	if s.plugin.engine == nil {
		return
	}
	route, ok := property(routeName)
	if !ok {
		return
	}
	if s.policy = s.plugin.engine.Policy(route, &incoming); s.policy == nil {
		return
	}
	incoming.plugin = s.plugin
	if outcome := s.exchange.Request(s.policy, &incoming, time.Now().Unix()); outcome.Void() {
		s.plugin.metrics.count(s.policy, outcome)
	}
}

func (s *stream) onResponse(end bool) {
	if s.policy == nil {
		return
	}
	response.plugin, response.end, response.fetched = s.plugin, end, nil
	outcome := s.exchange.Response(&response)
	if outcome != session.None && !outcome.Void() {
		s.plugin.metrics.count(s.policy, outcome)
	}
	if s.plugin.logging {
		setProperty(policyconfig.OutcomeFilterState, outcome.Code())
	}
	s.plugin.metrics.watchMemory()
}

// Paths of properties.
const (
	routeName   = "xds\x00route_name"
	clusterName = "xds\x00cluster_name"
	codeDetails = "response\x00code_details"
)

func (*request) Cluster() string {
	name, _ := property(clusterName)
	return name
}
