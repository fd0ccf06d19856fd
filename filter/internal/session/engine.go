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
	proxy     Proxy
	keys      Keys
	shown     token.Fingerprint // of the ring whose keys came with routes last
	skew      int64
	pinHeader string
	// routes are those of the plugin configuration's policies; carried are those whose policies came with them.
	routes  map[string]*routePolicies
	carried carried
	cache   cache
	// tickets says that clients may have tickets; envelopes is nil until a policy with envelopes has a request.
	tickets   bool
	envelopes *envelopes
	scopes    uint64 // how many there were
	warnings  warnings
	listed    []string // some of the routes, for messages
	// buf is where tokens, Set-Cookie and Cookie lines are built before the proxy takes them, and lines are the latter;
	// nonce, id, backend, host and pin are the buffers for a nonce, a session id, a backend's tag, a host's text and its
	// pin. All would be allocated again otherwise.
	buf   []byte
	lines []string
	nonce [12]byte
	id    [8]byte

	backend [backendDigits]byte
	host    [token.HostTextMax]byte
	pin     [MaxPin]byte
}

// routePolicies are the policies of one Envoy route: one for all of its clusters, or one for each.
type routePolicies struct {
	carriage
	all       *Policy
	byCluster map[string]*Policy
	// broken says that policies came with the route that can't be read.
	broken bool
}

func (r *routePolicies) each(visit func(*Policy)) {
	if r.all != nil {
		visit(r.all)
	}
	for _, p := range r.byCluster {
		visit(p)
	}
}

// Policy is one session policy with all that can be computed before requests come.
type Policy struct {
	engine *Engine
	// Index is the policy's place in the configuration, -1 where it came with a route; Name is its name there.
	Index int
	Name  string
	// Counters is for the host, which counts outcomes.
	Counters *Counters
	// Noted is for the host too: a bit for each outcome that it has seen of the policy, and then one for each warning.
	Noted uint32
	home  *routePolicies // where it came with a route

	cfg   *policyconfig.Policy
	scope *token.Scope
	// scopeID tells scopes apart in the cache. A number is never used for another.
	scopeID uint64
	// judge has the policy's last word on a session.
	judge token.Judge
	// renewAfter is how old, in seconds, a token's last-seen date may grow before it is written again; 0: any age.
	renewAfter int64
	// cookieHead and cookieTail enclose the token in a Set-Cookie line.
	cookieHead, cookieTail string
	permanent              bool
	// crossSite is the name of the second cookie, empty for none, and crossSiteTail are its attributes.
	crossSite, crossSiteTail string
	// headerName is the session header's name in lower case, as the proxy has it.
	headerName string
	strict     bool
	// within says that a session whose host is lost stays in its backend.
	within bool
	// leads are the backends of a split whose routes are there for each of them.
	leads []lead
	// failStatus is what the proxy answers in the place of a lost host of a strict policy; else empty.
	failStatus string
	// warned is when each warning may be logged again, in seconds since the Unix epoch.
	warned [Warnings]uint32
	// secure says that the policy's cookies are Secure, so that clients bring them back over HTTPS alone.
	secure bool
	// warm says that what is made on first use has been made.
	warm bool
}

// New makes an engine from a configuration that policyconfig.Parse accepted, which has policies with a ring only.
func New(cfg *policyconfig.Config, keys Keys, proxy Proxy) (*Engine, error) {
	e := &Engine{
		proxy:     proxy,
		keys:      keys,
		skew:      int64(cfg.ClockSkew),
		pinHeader: cfg.PinHeader,
		tickets:   cfg.DebugTickets,
		routes:    make(map[string]*routePolicies, len(cfg.Policies)),
	}
	e.cache.appendPin = proxy.AppendPin
	longest := 0
	scopes, err := e.openScopes(cfg.Policies, "", nil)
	if err != nil {
		return nil, err
	}
	for i := range cfg.Policies {
		// A copy of its own: TinyGo's collector walks back to the start of an object from every pointer into it,
		// which with 10,000 policies in one slice makes a collection take seconds.
		own := cfg.Policies[i]
		pc := &own
		scope := scopes[pc.Scope]
		p := e.newPolicy(pc, scope.Scope)
		p.engine, p.Index, p.scopeID = e, i, scope.id
		longest = max(longest, p.longestLine())
		if err := e.bind(p); err != nil {
			return nil, err
		}
	}
	e.buf = make([]byte, 0, longest)
	return e, nil
}

// knownScope is a scope that several policies may have.
type knownScope struct {
	*token.Scope
	id uint64
}

func (e *Engine) nextScope() uint64 {
	e.scopes++
	return e.scopes
}

func (e *Engine) newPolicy(pc *policyconfig.Policy, scope *token.Scope) *Policy {
	p := &Policy{
		Name:  pc.Name,
		cfg:   pc,
		scope: scope,
		judge: token.Judge{
			Rules: token.Rules{
				AbsoluteTimeout: int64(pc.AbsoluteTimeout),
				IdleTimeout:     int64(pc.IdleTimeout),
				Skew:            e.skew,
				Epoch:           pc.Revocation.Epoch,
				NotBefore:       int64(pc.Revocation.NotBefore),
			},
			Revoked: newRevoked(&pc.Revocation),
			Owners:  newOwners(pc.Owners),
		},
	}
	if pc.IdleTimeout > 0 {
		p.renewAfter = max(1, int64(pc.IdleTimeout)*int64(pc.RenewAfterPercent)/100)
	}
	p.headerName = strings.ToLower(pc.SessionName)
	p.leads = newLeads(pc.Leads)
	p.within = pc.OnHostLost == policyconfig.RebalanceWithin || p.leads != nil
	if p.strict = pc.OnHostLost == policyconfig.Fail; p.strict {
		p.failStatus = strconv.Itoa(pc.FailStatus)
	}
	if c := pc.Cookie; c != nil {
		p.secure = c.Secure && !pc.Envelope // in an envelope's cookie the attributes are the application's
		p.permanent = c.LifetimeType == policyconfig.LifetimePermanent
		p.cookieHead, p.cookieTail = pc.SessionName+"=", cookieAttributes(c)
		if c.CrossSite {
			p.crossSite, p.crossSiteTail = pc.SessionName+policyconfig.CrossSiteSuffix, crossSiteAttributes(c)
		}
	}
	return p
}

// Fingerprint tells the key ring from others; 0 where there is none.
func (e *Engine) Fingerprint() token.Fingerprint { return e.keys.Fingerprint() }

// mostListed is how many routes a message names.
const mostListed = 5

// bind makes the policy findable by its routes and clusters.
func (e *Engine) bind(p *Policy) error {
	for _, name := range p.cfg.Routes {
		r := e.routes[name]
		if r == nil {
			r = &routePolicies{}
			e.routes[name] = r
			if len(e.listed) < mostListed {
				e.listed = append(e.listed, name)
			}
		}
		if err := r.bind(p, name); err != nil {
			return err
		}
	}
	return nil
}

// bind makes the policy findable by its clusters. Validation refuses double claims before; the check here keeps a hole
// there from choosing a policy by chance.
func (r *routePolicies) bind(p *Policy, route string) error {
	if len(p.cfg.Clusters) == 0 {
		if r.all != nil {
			return twoPolicies("route "+strconv.Quote(route), r.all, p)
		}
		r.all = p
		return nil
	}
	if r.byCluster == nil {
		r.byCluster = make(map[string]*Policy, len(p.cfg.Clusters))
	}
	for _, cluster := range p.cfg.Clusters {
		if other := r.byCluster[cluster]; other != nil {
			return twoPolicies("route "+strconv.Quote(route)+" and cluster "+strconv.Quote(cluster), other, p)
		}
		r.byCluster[cluster] = p
	}
	return nil
}

// twoPolicies does without package fmt, which keeps memory between calls: no module may that frees a configuration
// whole.
func twoPolicies(claim string, one, other *Policy) error {
	return errors.New(claim + ": two policies: " + strconv.Quote(one.Name) + " and " + strconv.Quote(other.Name))
}

// Destination is where a request goes.
type Destination interface {
	// Cluster is the name of Envoy's cluster.
	Cluster() string
	// Policies is the text of the policies that come with the route; false where there is none. It is good until the next
	// call of a method.
	Policies() (text string, ok bool)
	// ShowKeys shows which ring the keys are of that came with the policies.
	ShowKeys(ring token.Fingerprint)
}

// Policy finds the policy of a route, or nil. The cluster is asked for only where the route's policies
// depend on it, and policies that come with the route only where the engine has not seen them, for reading either costs
// the proxy more than all else here. Where what comes with the route is broken, no request may pass.
func (e *Engine) Policy(route string, to Destination) (p *Policy, sound bool) {
	r := e.carried.findPolicies(route)
	if r == nil {
		if r = e.routes[route]; r == nil {
			if r = e.carry(route, to); r == nil {
				return nil, true
			}
		}
	}
	if r.byCluster != nil {
		if p := r.byCluster[to.Cluster()]; p != nil {
			return p, !r.broken
		}
	}
	return r.all, !r.broken
}

// pinText is a host as the proxy's Pin takes it, valid until the next call.
func (e *Engine) pinText(host token.Host) string {
	return stringOf(e.proxy.AppendPin(e.pin[:0], host.AppendText(e.host[:0])))
}

// heat makes what a policy's first request needs and keeps: of 10,000 policies most are idle.
func (p *Policy) heat() {
	p.engine.proxy.lasting(true)
	p.scope.Prepare()
	p.engine.cache.prepare()
	p.engine.proxy.lasting(false)
	p.warm = true
}
