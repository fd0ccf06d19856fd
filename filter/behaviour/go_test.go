package behaviour

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/internal/session"
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
	// warned counts warnings, and log has the lines.
	warned map[string]uint64
	log    []string
}

func startGo(t *testing.T, config string, env map[string]string, clock func() time.Time) (plugin, error) {
	t.Helper()
	source := rand.NewChaCha8([32]byte{})
	random := func(b []byte) { _, _ = source.Read(b) }
	p := &goPlugin{clock: clock, count: map[string]uint64{}, warned: map[string]uint64{}}
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

func (p *goPlugin) counts() map[string]uint64 { return p.count }

func (p *goPlugin) open(route, cluster string) stream { return p.openWith(route, cluster, "") }

func (p *goPlugin) openWith(route, cluster, policies string) stream {
	to := destination{cluster, policies}
	policy, sound := p.engine.Policy(route, to)
	return &goStream{plugin: p, route: route, to: to, policy: policy, refused: !sound}
}

// destination is the name of a cluster, and what the route's metadata has.
type destination struct{ cluster, policies string }

func (d destination) Cluster() string { return d.cluster }

func (d destination) Policies() (string, bool) { return d.policies, d.policies != "" }
func (destination) ShowKeys(token.Fingerprint) {}

type goStream struct {
	plugin   *goPlugin
	route    string
	to       destination
	policy   *session.Policy
	refused  bool
	exchange session.Exchange
	outcome  session.Outcome
	backend  string
	state    map[string]string
	attempts int
}

func (s *goStream) setBackend(tag string) { s.backend = tag }

func (s *goStream) request(h [][2]string) ([][2]string, error) {
	if s.refused {
		return nil, errRefused
	}
	if s.policy == nil {
		l := &list{lines: h, clock: s.plugin.clock, warned: s.plugin.warned, destination: s.to}
		s.plugin.engine.Pass(s.route, l)
		return l.lines, nil
	}
	s.state = map[string]string{}
	l := &list{lines: h, state: s.state}
	if o := s.exchange.Request(s.policy, l, s.plugin.clock().Unix()); o.Void() {
		s.plugin.count[s.policy.Name+" "+o.String()]++
	}
	return l.lines, nil
}

func (s *goStream) response(h [][2]string, details string, headersOnly bool) ([][2]string, error) {
	if s.policy == nil {
		return h, nil
	}
	l := &list{
		lines: h, details: details, headersOnly: headersOnly, backend: s.backend, clock: s.plugin.clock, attempts: s.attempts,
		state: s.state, warned: s.plugin.warned, destination: s.to,
	}
	s.outcome = s.exchange.Response(l)
	if s.outcome != session.None && !s.outcome.Void() {
		s.plugin.count[s.policy.Name+" "+s.outcome.String()]++
	}
	if s.plugin.fields {
		s.exchange.Publish(s.outcome, l, s.plugin.digest, l.Publish)
	}
	return l.lines, nil
}

func (s *goStream) states() map[string]string { return s.state }
func (s *goStream) attempted(times int)       { s.attempts = times }

func (s *goStream) logged() string {
	if s.policy == nil || !s.plugin.logging {
		return ""
	}
	return s.outcome.Code()
}

func (s *goStream) close() { s.exchange.Drop() }

// list is a header map for the engine as Go.
type list struct {
	lines       [][2]string
	details     string
	headersOnly bool
	backend     string
	clock       func() time.Time
	attempts    int
	state       map[string]string
	warned      map[string]uint64
	destination
}

func (l *list) CountWarning(p *session.Policy, w session.Warning) {
	l.warned[policyconfig.WarningsCounter(p.Name, w.String())]++
}
func (l *list) CountSteered() { l.warned[policyconfig.SteeredCounter]++ }
func (l *list) CountPassed()  { l.warned[policyconfig.PassedCounter]++ }

func (l *list) Steered() bool {
	_, steered := l.Get(pinHeader)
	l.Remove(pinHeader)
	return steered
}

func (l *list) Attempts() int             { return l.attempts }
func (l *list) Publish(key, value string) { l.state[key] = strings.Clone(value) }

func (l *list) Get(name string) (string, bool) { return first(l.lines, name) }
func (l *list) All() [][2]string               { return l.lines }
func (l *list) Add(name, value string) {
	l.lines = append(l.lines, [2]string{name, strings.Clone(value)})
}
func (l *list) Remove(name string)  { l.lines = without(l.lines, name) }
func (l *list) CodeDetails() string { return l.details }
func (l *list) HeadersOnly() bool   { return l.headersOnly }
func (l *list) Prefetch()           {}
func (l *list) Balance()            { l.Remove(pinHeader) }

func (l *list) Pin(host string, _ bool) { l.Set(pinHeader, host) }

func (l *list) Within(backend string) { l.Set(policyconfig.BackendHeader(pinHeader), backend) }

func (l *list) Backend() string { return l.backend }

func (l *list) Chosen() (string, bool) {
	pin, ok := l.Get(pinHeader)
	l.Remove(pinHeader)
	host, _ := base64.StdEncoding.DecodeString(pin) // no host where it fails
	return string(host), ok
}

func (l *list) Now() int64 { return l.clock().Unix() }

func (l *list) Set(name, value string) {
	l.Remove(name)
	l.Add(name, value)
}
