package ladder

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/policy-config"
)

// generator makes random blocks, each of which Check takes, as they may meet on one way.
type generator struct {
	*rand.Rand
	created map[Object]time.Time
	made    map[string]*settings // by rung and source: its blocks at several targets are the same
}

func newGenerator(seed uint64) *generator {
	return &generator{rand.New(rand.NewPCG(seed, 5)), map[Object]time.Time{}, map[string]*settings{}}
}

// round is what one generator has given, and the generator for more of it.
type round struct {
	*generator
	blocks []Block
}

// rounds are made once, for checking the blocks takes longer than merging them.
var rounds = sync.OnceValue(func() []round {
	all := make([]round, 2000)
	for seed := range all {
		g := newGenerator(uint64(seed))
		all[seed] = round{g, g.blocks()}
	}
	return all
})

// pick gives one of the values, or nil as often as chance has it.
func pick[T any](g *generator, chance int, of ...T) *T {
	if g.IntN(100) >= chance {
		return nil
	}
	v := of[g.IntN(len(of))]
	return &v
}

// blocks gives up to ten blocks on random rungs.
func (g *generator) blocks() []Block {
	var all []Block
	for range g.IntN(10) + 1 {
		if b := g.block(); b != nil {
			all = append(all, *b)
		}
	}
	return all
}

// block gives one block; nil where there already is the one block that an inline rung can have.
func (g *generator) block() *Block {
	b := &Block{Rung: Rung(g.IntN(21) + 1), Target: Target{Object: Object{KindHTTPRoute, "shop", "cart"}}}
	kind, name := "SessionPersistencePolicy", string(rune('a'+g.IntN(4)))
	switch b.Rung {
	case InlineRule, InlineXBackend:
		kind, name = "Inline", "only"
	case BackendTraffic:
		kind = "XBackendTrafficPolicy"
	}
	if b.Rung.OfService() {
		b.Target.Object = Object{KindService, "shop", string(rune('x' + g.IntN(2)))}
	}
	b.Source.Object = Object{kind, "shop", name}
	if _, known := g.created[b.Source.Object]; !known {
		g.created[b.Source.Object] = [...]time.Time{{}, time.Unix(1000, 0), time.Unix(2000, 0)}[g.IntN(3)]
	}
	b.Source.Created = g.created[b.Source.Object]
	b.Path = "at" + strconv.Itoa(int(b.Rung))
	key := b.Source.String() + b.Path
	b.Settings = g.made[key]
	if b.Settings == nil {
		b.Settings = g.valid(*b)
		g.made[key] = b.Settings
	}
	return b
}

// valid tries until Check takes the settings.
func (g *generator) valid(b Block) *settings {
	for range 1000 {
		b.Settings = g.settings()
		if len(Check(b)) == 0 {
			return b.Settings
		}
	}
	panic("a thousand random blocks are all wrong")
}

func (g *generator) settings() *settings {
	if d := pick(g, 10, true, true, false); d != nil {
		return &settings{Disabled: d}
	}
	s := &settings{
		Type:               pick(g, 25, policyconfig.TypeCookie, policyconfig.TypeHeader),
		SessionName:        pick(g, 40, v1alpha1.SessionName("plain"), "X-End", "__Host-a", "__secure-b", "__Http-c", "__Host-Http-d", "Origin"),
		AbsoluteTimeout:    pick(g, 30, v1alpha1.Duration("1m"), "1h", "8h"),
		IdleTimeoutSeconds: pick(g, 30, int64(30), 60, 3600),
		RenewAfterPercent:  pick(g, 20, int32(1), 25, 99),
		DrainTimeout:       pick(g, 20, v1alpha1.Duration("0s"), "5m"),
		OnHostLost:         pick(g, 20, policyconfig.Rebalance, policyconfig.Fail),
		FailStatus:         pick(g, 40, int32(400), 503, 599),
		EndSessionHeader:   pick(g, 30, v1alpha1.HeaderName("x-end"), "plain"),
		IssueOn:            pick(g, 20, policyconfig.IssueOnAny, policyconfig.IssueOnTLS),
		RevealHost:         pick(g, 20, true, false),
		Forward:            pick(g, 20, true, false),
	}
	if g.IntN(2) == 0 {
		s.Cookie = g.cookie()
	}
	if g.IntN(3) == 0 {
		s.Cache = &v1alpha1.Cache{Control: pick(g, 50, policyconfig.CacheControlKeep, policyconfig.CacheControlNoStore), SkipCacheable: pick(g, 50, true, false)}
	}
	if g.IntN(3) == 0 {
		s.Revocation = &v1alpha1.Revocation{Epoch: pick(g, 50, int64(0), 9), NotBefore: pick(g, 50, v1alpha1.Time("2026-11-21T08:00:00Z"))}
	}
	return s
}

func (g *generator) cookie() *v1alpha1.Cookie {
	c := &v1alpha1.Cookie{
		LifetimeType: pick(g, 20, policyconfig.LifetimeSession, policyconfig.LifetimePermanent),
		Path:         pick(g, 30, "", "/", "/cart"),
		Domain:       pick(g, 20, "shop.example"),
		SameSite:     pick(g, 40, policyconfig.SameSiteNone, policyconfig.SameSiteLax),
		Secure:       pick(g, 40, true, false),
		HTTPOnly:     pick(g, 30, true, false),
		Partitioned:  pick(g, 30, true, false),
	}
	if g.IntN(4) == 0 {
		c.Attributes = []v1alpha1.CookieAttribute{"Priority=High", "Beta"}[:g.IntN(2)+1]
	}
	return c
}
