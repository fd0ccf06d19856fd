//go:build tinygo.wasm

package host

import (
	"crypto/rand"
	"strconv"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// plugin is one loaded configuration in one worker.
type plugin struct {
	engine    *session.Engine
	pinHeader string
	metrics   metrics
	logging   bool
	fields    bool // of the access log
	digest    bool // with the fields
	// backendHeader carries the backend of a pinned session.
	backendHeader string
	recycled      []*stream
}

// start refuses a bad configuration with every error in the log; Envoy then keeps the one before, or answers 500 on
// the routes with the filter when there is none.
func (p *plugin) start(configuration string) types.OnPluginStartStatus {
	cfg, engine, errs := session.Load(configuration, readEnv, session.Proxy{
		Random: readRandom, AppendPin: appendPin, Refuse: logRefused,
		Log: logLine,
	})
	for _, e := range errs {
		logCritical("limpet: plugin configuration: " + e.Error())
	}
	if len(errs) > 0 {
		return types.OnPluginStartStatusFailed
	}
	p.engine, p.pinHeader = engine, cfg.PinHeader
	p.logging, p.fields, p.digest = cfg.AccessLog, cfg.AccessLogFields, cfg.SessionDigest
	p.backendHeader = policyconfig.BackendHeader(cfg.PinHeader)
	defineLasting()
	defineSessions(cfg.Policies)
	if ring := engine.Fingerprint(); ring != 0 {
		showKeys(ring)
	}
	return types.OnPluginStartStatusOK
}

// logRefused says why requests of a route get 503.
func logRefused(route string, errs []error) {
	for _, e := range errs {
		logCritical("limpet: policies of route " + strconv.Quote(route) + ": " + e.Error())
	}
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
	s.exchange.Drop()
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

func (s *stream) onRequest() types.Action {
	s.policy = nil
	if s.plugin.engine == nil {
		return types.ActionContinue
	}
	route, ok := property(routeName)
	if !ok {
		return types.ActionContinue
	}
	incoming.plugin = s.plugin
	policy, sound := s.plugin.engine.Policy(route, &incoming)
	switch {
	case !sound:
		s.plugin.metrics.countRefused()
		answer(http503, policyconfig.RefusedDetails)
		return types.ActionPause
	case policy == nil:
		s.plugin.engine.Pass(route, &incoming)
		return types.ActionContinue
	}
	s.policy = policy
	if outcome := s.exchange.Request(policy, &incoming, time.Now().Unix()); outcome.Void() {
		s.plugin.metrics.count(policy, outcome)
	}
	return types.ActionContinue
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
	if s.plugin.fields {
		s.exchange.Publish(outcome, &response, s.plugin.digest, setProperty)
	}
	s.plugin.metrics.watchMemory()
}

// Paths of properties.
const (
	routeName   = "xds\x00route_name"
	clusterName = "xds\x00cluster_name"
	codeDetails = "response\x00code_details"
	backendTag  = "xds\x00upstream_host_metadata\x00filter_metadata\x00" + policyconfig.BackendMetadata +
		"\x00" + policyconfig.BackendMetadataKey
	attempts = "upstream\x00request_attempt_count"

	routePolicies = "xds\x00route_metadata\x00filter_metadata\x00" + policyconfig.RouteMetadata + "\x00" +
		policyconfig.RouteField
)

const http503 = 503

func cluster() string {
	name, _ := property(clusterName)
	return name
}

func (*request) Cluster() string { return cluster() }

func (*request) Policies() (string, bool) { return property(routePolicies) }

func (*request) ShowKeys(ring token.Fingerprint) { showKeys(ring) }
