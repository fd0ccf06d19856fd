package behaviour

import (
	"encoding/base64"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/internal/session"
	"github.com/limpet-proxy/limpet/filter/wasmtest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

type goPlugin struct {
	engine  *session.Engine
	clock   func() time.Time
	logging bool
	fields  bool
	digest  bool
	count   map[string]uint64
	// log has the lines.
	log []string
}

func startGo(t *testing.T, config string, env map[string]string, clock func() time.Time) (wasmtest.Filter, error) {
	t.Helper()
	source := rand.NewChaCha8([32]byte{})
	random := func(b []byte) { _, _ = source.Read(b) }
	p := &goPlugin{clock: clock, count: map[string]uint64{}}
	cfg, engine, errs := session.Load(config, func(k string) string { return env[k] }, session.Proxy{
		Random:    random,
		AppendPin: func(dst, host []byte) []byte { return base64.StdEncoding.AppendEncode(dst, host) },
		Log:       func(_ session.LogLevel, line string) { p.log = append(p.log, strings.Clone(line)) },
	})
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p.engine, p.logging, p.fields, p.digest = engine, cfg.AccessLog, cfg.AccessLogFields, cfg.SessionDigest
	return p, nil
}

func (p *goPlugin) Counters() map[string]uint64 { return maps.Clone(p.count) }

func (p *goPlugin) Open(properties map[string]string) wasmtest.Exchange {
	s := &goStream{plugin: p, properties: maps.Clone(properties)}
	s.to = destination{properties[wasmtest.ClusterProperty], properties[wasmtest.PoliciesProperty]}
	policy, sound := p.engine.Policy(properties[wasmtest.RouteProperty], s.to)
	s.policy, s.refused = policy, !sound
	return s
}

// destination is the name of a cluster, and what the route's metadata has.
type destination struct{ cluster, policies string }

func (d destination) Cluster() string { return d.cluster }

func (d destination) Policies() (string, bool) { return d.policies, d.policies != "" }
func (destination) ShowKeys(token.Fingerprint) {}

type goStream struct {
	plugin     *goPlugin
	properties map[string]string
	to         destination
	policy     *session.Policy
	refused    bool
	exchange   session.Exchange
	state      map[string]string
}

func (s *goStream) SetProperty(path, value string) { s.properties[path] = value }

func (s *goStream) RequestHeaders(h [][2]string, _ bool) ([][2]string, *wasmtest.LocalReply, error) {
	if s.refused {
		return nil, &wasmtest.LocalReply{Status: 503, Details: policyconfig.RefusedDetails}, nil
	}
	s.state = map[string]string{}
	l := s.list(h)
	if s.policy == nil {
		s.plugin.engine.Pass(s.properties[wasmtest.RouteProperty], l)
	} else if o := s.exchange.Request(s.policy, l, s.plugin.clock().Unix()); o.Void() {
		s.count(o)
	}
	return l.lines, nil, nil
}

func (s *goStream) list(h [][2]string) *list {
	return &list{stream: s, lines: h, destination: destination{s.properties[wasmtest.ClusterProperty], s.to.policies}}
}

func (s *goStream) count(o session.Outcome) {
	s.plugin.count[policyconfig.SessionsCounter(s.policy.Name, o.String())]++
}

func (s *goStream) ResponseHeaders(h [][2]string, headersOnly bool) ([][2]string, error) {
	if s.policy == nil {
		return h, nil
	}
	l := s.list(h)
	l.headersOnly = headersOnly
	outcome := s.exchange.Response(l)
	if outcome != session.None && !outcome.Void() {
		s.count(outcome)
	}
	if s.plugin.logging {
		s.state[policyconfig.OutcomeFilterState] = outcome.Code()
	}
	if s.plugin.fields {
		s.exchange.Publish(outcome, l, s.plugin.digest, l.Publish)
	}
	return l.lines, nil
}

func (s *goStream) FilterState() map[string]string { return s.state }

func (s *goStream) Close() { s.exchange.Drop() }

// list is a header map for the engine as Go.
type list struct {
	stream      *goStream
	lines       [][2]string
	headersOnly bool
	destination
}

func (l *list) CountWarning(p *session.Policy, w session.Warning) {
	l.stream.plugin.count[policyconfig.WarningsCounter(p.Name, w.String())]++
}
func (l *list) CountSteered() { l.stream.plugin.count[policyconfig.SteeredCounter]++ }
func (l *list) CountPassed()  { l.stream.plugin.count[policyconfig.PassedCounter]++ }

func (l *list) Steered() bool {
	_, steered := l.Get(pinHeader)
	l.Remove(pinHeader)
	return steered
}

func (l *list) Attempts() int { return attempts(l.stream.properties) }

func (l *list) Publish(key, value string) { l.stream.state[key] = strings.Clone(value) }

func (l *list) Get(name string) (string, bool) { return first(l.lines, name) }
func (l *list) All() [][2]string               { return l.lines }
func (l *list) Add(name, value string) {
	l.lines = append(l.lines, [2]string{name, strings.Clone(value)})
}
func (l *list) Remove(name string)  { l.lines = without(l.lines, name) }
func (l *list) CodeDetails() string { return l.stream.properties[wasmtest.DetailsProperty] }
func (l *list) HeadersOnly() bool   { return l.headersOnly }
func (l *list) Prefetch()           {}
func (l *list) Balance()            { l.Remove(pinHeader) }

func (l *list) Pin(host string, _ bool) { l.Set(pinHeader, host) }

func (l *list) Within(backend string) { l.Set(policyconfig.BackendHeader(pinHeader), backend) }

func (l *list) Lead(value string) {
	if l.Set(policyconfig.BackendHeader(pinHeader), value); value == "" {
		l.Remove(policyconfig.BackendHeader(pinHeader))
	}
}

func (l *list) Backend() string { return l.stream.properties[wasmtest.BackendProperty] }

func (l *list) Chosen() (string, bool) {
	pin, ok := l.Get(pinHeader)
	l.Remove(pinHeader)
	host, _ := base64.StdEncoding.DecodeString(pin) // no host where it fails
	return string(host), ok
}

func (l *list) Now() int64 { return l.stream.plugin.clock().Unix() }

func (l *list) Set(name, value string) {
	l.Remove(name)
	l.Add(name, value)
}
