// Package judge says what the filter makes of a client's token, outside a proxy: it asks the filter's own engine.
package judge

import (
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Pinned is the outcome of a request whose token is good. The others are as counters call them.
var Pinned = session.Pinned.String()

// Judge has some policies. It is for one goroutine.
type Judge struct {
	engine   *session.Engine
	policies []policyconfig.Policy
}

// New makes a judge by the filter's defaults for all that is not a policy's.
func New(policies []policyconfig.Policy, ring *token.Ring) (*Judge, error) {
	cfg := policyconfig.DefaultConfig()
	for i := range policies {
		own := policies[i]
		own.Routes, own.Clusters = []string{strconv.Itoa(i)}, nil
		cfg.Policies = append(cfg.Policies, own)
	}
	engine, err := session.New(&cfg, session.RingKeys(ring), session.Proxy{
		AppendPin: func(dst, host []byte) []byte { return append(dst, host...) },
	})
	return &Judge{engine, cfg.Policies}, err
}

// Request gives the outcome of a request under a policy whose cookie or header has that value, as far as it is known
// before a host answers, and the host that it is to go to; empty for any. Now is in seconds since 1970.
func (j *Judge) Request(policy int, value string, now int64) (outcome, host string) {
	cfg := &j.policies[policy]
	r := &request{name: "cookie", value: cfg.SessionName + "=" + value}
	if cfg.Type == policyconfig.TypeHeader {
		r = &request{name: strings.ToLower(cfg.SessionName), value: value}
	}
	p, _ := j.engine.Policy(cfg.Routes[0], nil)
	var x session.Exchange
	found := x.Request(p, r, now)
	x.Drop()
	if r.host != "" {
		found = session.Pinned
	}
	return found.String(), r.host
}

// request is one with a single header.
type request struct{ name, value, host string }

func (r *request) Get(name string) (string, bool) { return r.value, name == r.name }

func (r *request) All() [][2]string { return [][2]string{{r.name, r.value}} }

// Pin notes the host, in a copy: the text is the engine's.
func (r *request) Pin(host string, _ bool) { r.host = strings.Clone(host) }

// What becomes of the headers, and of the choice among hosts, is no matter here.

func (*request) Set(_, _ string)     {}
func (*request) Add(_, _ string)     {}
func (*request) Remove(string)       {}
func (*request) Within(string)       {}
func (*request) Lead(string)         {}
func (*request) Balance()            {}
func (*request) Publish(_, _ string) {}
