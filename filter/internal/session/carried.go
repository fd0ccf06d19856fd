package session

import (
	"errors"
	"strconv"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// What an engine keeps of policies that come with their routes, at the most. The oldest go first; their routes' next
// request brings them back.
const (
	maxCarried      = 16 << 10
	maxCarriedBytes = 8 << 20 // of text; what is made of it takes some three times as much
	carriedSlots    = 4 << 10 // a power of two
)

// carried are the policies that came with their routes, by the routes' names, whose identity changes with the policies.
// It is a hash table with chains, whose entries are in order of their last use too.
type carried struct {
	slots          []*routePolicies
	newest, oldest *routePolicies
	count, bytes   int
}

// carriage is what the policies of a route need to be kept in a bounded set. Those of the plugin configuration have
// none.
type carriage struct {
	route        string // with the identity
	size         int    // of the text
	hash         uint32
	chain        *routePolicies
	newer, older *routePolicies
	// memory is what all of it is allocated from, where the proxy has such memory. users are the exchanges that have one
	// of the policies, and gone says that the set has no more.
	memory uintptr
	users  int
	gone   bool
}

// hashRoute takes a route's last bytes, which are its identity: they are a hash.
func hashRoute(route string) (h uint32) {
	for i := max(0, len(route)-8); i < len(route); i++ {
		h = h*31 + uint32(route[i])
	}
	return h ^ h>>15
}

// findPolicies returns the policies of a route, or nil.
func (c *carried) findPolicies(route string) *routePolicies {
	if c.slots == nil {
		return nil
	}
	h := hashRoute(route)
	for r := c.slots[h&(carriedSlots-1)]; r != nil; r = r.chain {
		if r.hash == h && equal(r.route, route) {
			if r != c.newest {
				c.unlink(r)
				c.link(r)
			}
			return r
		}
	}
	return nil
}

// link makes an entry the newest.
func (c *carried) link(r *routePolicies) {
	r.older, r.newer = c.newest, nil
	if c.newest != nil {
		c.newest.newer = r
	} else {
		c.oldest = r
	}
	c.newest = r
}

func (c *carried) unlink(r *routePolicies) {
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		c.newest = r.older
	}
	if r.older != nil {
		r.older.newer = r.newer
	} else {
		c.oldest = r.newer
	}
}

// add takes an entry in that is not there.
func (c *carried) add(r *routePolicies) {
	slot := &c.slots[r.hash&(carriedSlots-1)]
	r.chain, *slot = *slot, r
	c.link(r)
	c.count++
	c.bytes += r.size
}

// takeOldest takes the entry out that was not used for the longest time.
func (c *carried) takeOldest() *routePolicies {
	r := c.oldest
	at := &c.slots[r.hash&(carriedSlots-1)]
	for *at != r {
		at = &(*at).chain
	}
	*at = r.chain
	c.unlink(r)
	// What a collector takes for a pointer to one that has left must not keep all that came after it.
	r.chain, r.newer, r.older = nil, nil, nil
	c.count--
	c.bytes -= r.size
	r.gone = true
	return r
}

// carry reads the policies that come with a route and keeps them; nil where the route's name does not say that it has
// any. What can't be read is kept too, so that it is complained of once.
func (e *Engine) carry(route string, to Destination) *routePolicies {
	name, _, found := policyconfig.CutIdentity(route)
	if !found {
		return nil
	}
	text, _ := to.Policies()
	e.prepareCarried()
	memory := e.proxy.own()
	r := &routePolicies{carriage: carriage{
		route: strings.Clone(route), size: len(route) + len(text), hash: hashRoute(route), memory: memory,
	}}
	errs := e.readCarried(r, name, text, to)
	if r.broken = len(errs) > 0; r.broken {
		e.proxy.refuse(r.route, errs)
	}
	e.proxy.lasting(false)
	e.growLine(r)
	for e.carried.count > 0 && (e.carried.count >= maxCarried || e.carried.bytes+r.size > maxCarriedBytes) {
		e.release(e.carried.takeOldest())
	}
	e.carried.add(r)
	return r
}

// prepareCarried makes what all policies that come with routes share, before the first.
func (e *Engine) prepareCarried() {
	if e.carried.slots == nil {
		e.proxy.lasting(true)
		e.carried.slots = make([]*routePolicies, carriedSlots)
		e.cache.prepare()
		e.proxy.lasting(false)
	}
}

// readCarried fills an entry with the policies of a text.
func (e *Engine) readCarried(r *routePolicies, name, text string, to Destination) []error {
	if text == "" {
		return []error{errors.New("the route's metadata has none, yet its name " + strconv.Quote(r.route) + " says so")}
	}
	keys, policies := policyconfig.CutKeys(text)
	list, faults := policyconfig.ParseRoute(policies, name, e.pinHeader)
	errs := make([]error, 0, len(faults))
	for _, fault := range faults {
		errs = append(errs, fault)
	}
	scopes, err := e.openScopes(list, keys, to)
	if err != nil {
		return append(errs, err)
	}
	for i := range list {
		own := list[i] // as in New
		scope := scopes[own.Scope]
		p := e.newPolicy(&own, scope.Scope)
		p.engine, p.Index, p.home, p.scopeID = e, -1, r, scope.id
		p.scope.Prepare()
		p.warm = true
		if err := r.bind(p, name); err != nil {
			return []error{err}
		}
	}
	return errs
}

// openScopes gives the scopes of policies: those of the ring, or, without one, those whose sealed keys came with the
// policies' route, each once and in the policies' order.
func (e *Engine) openScopes(list []policyconfig.Policy, keys string, to Destination) (map[string]knownScope, error) {
	scopes := make(map[string]knownScope, len(list))
	for i := range list {
		name := list[i].Scope
		if _, known := scopes[name]; known {
			continue
		}
		if e.keys.ring != nil {
			scopes[name] = knownScope{e.keys.ring.Scope(name), e.nextScope()}
			continue
		}
		var sealed string
		sealed, keys = policyconfig.NextKey(keys)
		scope, ring, err := token.OpenScope(e.keys.roots, name, sealed)
		if err != nil {
			return nil, errors.New("the keys of scope " + strconv.Quote(name) + ": " + err.Error())
		}
		if ring != e.shown {
			e.shown = ring
			to.ShowKeys(ring)
		}
		scopes[name] = knownScope{scope, e.nextScope()}
	}
	if keys != "" && len(list) > 0 {
		return nil, errors.New("there are keys that no policy needs")
	}
	return scopes, nil
}

// growLine allocates the lines of an entry's policies.
func (e *Engine) growLine(r *routePolicies) {
	longest := 0
	r.each(func(p *Policy) { longest = max(longest, p.longestLine()) })
	if longest > cap(e.buf) {
		e.proxy.lasting(true)
		e.buf = make([]byte, 0, 2*longest)
		e.proxy.lasting(false)
	}
}

// Hold says that an exchange has the policy, until Release: where memory is given back, a policy's must last as long.
func (p *Policy) Hold() {
	if p.home != nil {
		p.home.users++
	}
}

// Release ends what Hold began.
func (p *Policy) Release() {
	if r := p.home; r != nil {
		r.users--
		if r.gone {
			p.engine.release(r)
		}
	}
}

// release gives the memory of an entry back that has left the set, once no exchange has it.
func (e *Engine) release(r *routePolicies) {
	if r.users == 0 && r.memory != 0 {
		e.proxy.Free(r.memory)
	}
}
