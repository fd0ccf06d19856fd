// Package session decides what limpet does with a request and its response: which host a token pins, when a
// token is issued, renewed or taken away, and what of it a backend sees. It knows nothing of proxy-wasm: the
// proxy's header maps come in as interfaces and the clock as a number, so that the same decisions run natively
// in tests and inside the shipped module.
//
// An Engine serves one thread, as a wasm VM does.
package session

import (
	"errors"
	"strconv"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// Engine holds a loaded plugin configuration, ready to serve requests.
type Engine struct {
	proxy  Proxy
	routes map[string]*routePolicies
	cache  cache
	// buf is where tokens, Set-Cookie and Cookie lines are built before the proxy takes them, and lines are the latter; nonce
	// and host are the room for a nonce and a host's text. All would be allocated anew otherwise.
	buf   []byte
	lines []string
	nonce [12]byte
	host  [token.HostTextMax]byte
}

// routePolicies are the policies of one Envoy route: one for all of its clusters, or one for each.
type routePolicies struct {
	all       *Policy
	byCluster map[string]*Policy
}

// Policy is one session policy with all that can be computed before requests come.
type Policy struct {
	engine *Engine
	// Index is the policy's place in the configuration; Name is its name there.
	Index int
	Name  string

	cfg   *policyconfig.Policy
	scope *token.Scope
	rules token.Rules
	// renewAfter is how old, in seconds, a token's last-seen date may grow before it is written anew; 0: any age.
	renewAfter int64
	// cookieHead and cookieTail enclose the token in a Set-Cookie line.
	cookieHead, cookieTail string
	permanent              bool
	// headerName is the session header's name in lower case, as the proxy has it.
	headerName string
	strict     bool
	// failStatus is what the proxy answers in the place of a lost host of a strict policy; else empty.
	failStatus string
	// warm says that what is made on first use has been made.
	warm bool
}

// New makes an engine from a configuration that policyconfig.Parse accepted. The ring signs and verifies.
func New(cfg *policyconfig.Config, ring *token.Ring, proxy Proxy) (*Engine, error) {
	e := &Engine{
		proxy:  proxy,
		routes: make(map[string]*routePolicies, len(cfg.Policies)),
	}
	e.cache.appendPin = proxy.AppendPin
	longest := 0
	scopes := make(map[string]*token.Scope, len(cfg.Policies))
	for i := range cfg.Policies {
		// A copy of its own: TinyGo's collector walks back to the start of an object from every pointer into it,
		// which with 10,000 policies in one slice makes a collection take seconds.
		own := cfg.Policies[i]
		pc := &own
		if scopes[pc.Scope] == nil {
			scopes[pc.Scope] = ring.Scope(pc.Scope)
		}
		p := newPolicy(pc, scopes[pc.Scope], int64(cfg.ClockSkew))
		p.engine, p.Index = e, i
		longest = max(longest, p.longestLine())
		if err := e.bind(p); err != nil {
			return nil, err
		}
	}
	e.buf = make([]byte, 0, longest)
	return e, nil
}

func newPolicy(pc *policyconfig.Policy, scope *token.Scope, skew int64) *Policy {
	p := &Policy{
		Name:  pc.Name,
		cfg:   pc,
		scope: scope,
		rules: token.Rules{
			AbsoluteTimeout: int64(pc.AbsoluteTimeout),
			IdleTimeout:     int64(pc.IdleTimeout),
			Skew:            skew,
			Epoch:           pc.Revocation.Epoch,
			NotBefore:       int64(pc.Revocation.NotBefore),
		},
	}
	if pc.IdleTimeout > 0 {
		p.renewAfter = max(1, int64(pc.IdleTimeout)*int64(pc.RenewAfterPercent)/100)
	}
	p.headerName = strings.ToLower(pc.SessionName)
	if p.strict = pc.OnHostLost == policyconfig.Fail; p.strict {
		p.failStatus = strconv.Itoa(pc.FailStatus)
	}
	if c := pc.Cookie; c != nil {
		p.permanent = c.LifetimeType == policyconfig.LifetimePermanent
		p.cookieHead, p.cookieTail = pc.SessionName+"=", cookieAttributes(c)
	}
	return p
}

// bind makes the policy findable by its routes and clusters. Validation refuses double claims before;
// the check here keeps a hole there from choosing a policy by chance.
func (e *Engine) bind(p *Policy) error {
	for _, name := range p.cfg.Routes {
		r := e.routes[name]
		if r == nil {
			r = &routePolicies{}
			e.routes[name] = r
		}
		if len(p.cfg.Clusters) == 0 {
			if r.all != nil {
				return twoPolicies("route "+strconv.Quote(name), r.all, p)
			}
			r.all = p
			continue
		}
		if r.byCluster == nil {
			r.byCluster = make(map[string]*Policy, len(p.cfg.Clusters))
		}
		for _, cluster := range p.cfg.Clusters {
			if other := r.byCluster[cluster]; other != nil {
				return twoPolicies("route "+strconv.Quote(name)+" and cluster "+strconv.Quote(cluster), other, p)
			}
			r.byCluster[cluster] = p
		}
	}
	return nil
}

// twoPolicies does without package fmt, which keeps memory between calls: no module may that frees a configuration whole.
func twoPolicies(claim string, one, other *Policy) error {
	return errors.New(claim + ": two policies: " + strconv.Quote(one.Name) + " and " + strconv.Quote(other.Name))
}

// Destination is where a request goes.
type Destination interface {
	// Cluster is the name of Envoy's cluster.
	Cluster() string
}

// Policy finds the policy of a route, or nil. The cluster is asked for only where the route's policies
// depend on it, for reading it costs the proxy more than all else here.
func (e *Engine) Policy(route string, to Destination) *Policy {
	r := e.routes[route]
	if r == nil {
		return nil
	}
	if r.byCluster != nil {
		if p := r.byCluster[to.Cluster()]; p != nil {
			return p
		}
	}
	return r.all
}

// heat makes what a policy's first request needs and keeps: of 10,000 policies most are idle.
func (p *Policy) heat() {
	p.engine.proxy.lasting(true)
	p.scope.Prepare()
	p.engine.cache.prepare()
	p.engine.proxy.lasting(false)
	p.warm = true
}
