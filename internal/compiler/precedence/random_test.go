package precedence

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// generator makes random blocks, each of which Check takes, as they may meet on one path.
type generator struct {
	*rand.Rand
	created map[object.Ref]time.Time
	made    map[string]*sessionSettings // by level and source: its blocks at several targets are the same
}

func newGenerator(seed uint64) *generator {
	return &generator{rand.New(rand.NewPCG(seed, 5)), map[object.Ref]time.Time{}, map[string]*sessionSettings{}}
}

// randomRound is what one generator has given, and the generator for more of it.
type randomRound struct {
	*generator
	blocks []SettingsBlock
}

// randomRounds are made once, for checking the blocks takes longer than merging them.
var randomRounds = sync.OnceValue(func() []randomRound {
	all := make([]randomRound, 2000)
	for seed := range all {
		g := newGenerator(uint64(seed))
		all[seed] = randomRound{g, g.randomBlocks()}
	}
	return all
})

// pickAny gives one of the values, or nil as often as chance has it.
func pickAny[T any](g *generator, chance int, of ...T) *T {
	if g.IntN(100) >= chance {
		return nil
	}
	v := of[g.IntN(len(of))]
	return &v
}

// randomBlocks gives up to ten blocks on random levels.
func (g *generator) randomBlocks() []SettingsBlock {
	var all []SettingsBlock
	for range g.IntN(10) + 1 {
		if b := g.randomBlock(); b != nil {
			all = append(all, *b)
		}
	}
	return all
}

// randomBlock gives one block; nil where there already is the one block that an inline level can have.
func (g *generator) randomBlock() *SettingsBlock {
	b := &SettingsBlock{Level: Level(g.IntN(int(BuiltIn)-1) + 1), Target: object.TargetRef{Ref: object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "cart"}}}
	kind, name := "SessionPersistencePolicy", string(rune('a'+g.IntN(4)))
	switch b.Level {
	case InlineRule, InlineXBackend:
		kind, name = "Inline", "only"
	case BackendTraffic:
		kind = "XBackendTrafficPolicy"
	}
	if b.Level.IsOnService() {
		b.Target.Ref = object.Ref{Kind: object.KindService, Namespace: "shop", Name: string(rune('x' + g.IntN(2)))}
	}
	b.Origin.Ref = object.Ref{Kind: kind, Namespace: "shop", Name: name}
	if _, known := g.created[b.Origin.Ref]; !known {
		g.created[b.Origin.Ref] = [...]time.Time{{}, time.Unix(1000, 0), time.Unix(2000, 0)}[g.IntN(3)]
	}
	b.Origin.Created = g.created[b.Origin.Ref]
	b.Path = "at" + strconv.Itoa(int(b.Level))
	key := b.Origin.String() + b.Path
	b.Settings = g.made[key]
	if b.Settings == nil {
		b.Settings = g.validSettings(*b)
		g.made[key] = b.Settings
	}
	return b
}

// validSettings tries until Check takes the settings.
func (g *generator) validSettings(b SettingsBlock) *sessionSettings {
	for range 1000 {
		b.Settings = g.randomSettings()
		if len(CheckBlock(b)) == 0 {
			return b.Settings
		}
	}
	panic("a thousand random blocks are all wrong")
}

func (g *generator) randomSettings() *sessionSettings {
	if d := pickAny(g, 10, true, true, false); d != nil {
		return &sessionSettings{Disabled: d}
	}
	s := &sessionSettings{
		Type:               pickAny(g, 25, policyconfig.TypeCookie, policyconfig.TypeHeader),
		SessionName:        pickAny(g, 40, v1alpha1.SessionName("plain"), "X-End", "__Host-a", "__secure-b", "__Http-c", "__Host-Http-d", "Origin"),
		AbsoluteTimeout:    pickAny(g, 30, v1alpha1.Duration("1m"), "1h", "8h"),
		IdleTimeoutSeconds: pickAny(g, 30, int64(30), 60, 3600),
		RenewAfterPercent:  pickAny(g, 20, int32(1), 25, 99),
		DrainTimeout:       pickAny(g, 20, v1alpha1.Duration("0s"), "5m"),
		OnHostLost:         pickAny(g, 20, policyconfig.Rebalance, policyconfig.Fail),
		FailStatus:         pickAny(g, 40, int32(400), 503, 599),
		EndSessionHeader:   pickAny(g, 30, v1alpha1.HeaderName("x-end"), "plain"),
		IssueOn:            pickAny(g, 20, policyconfig.IssueOnAny, policyconfig.IssueOnTLS),
		RevealHost:         pickAny(g, 20, true, false),
		Forward:            pickAny(g, 20, true, false),
	}
	if g.IntN(4) == 0 {
		s.Unset = []v1alpha1.FieldPath{v1alpha1.FieldPath(unsetNames[g.IntN(len(unsetNames))])}
	}
	if g.IntN(2) == 0 {
		s.Cookie = g.randomCookie()
	}
	if g.IntN(3) == 0 {
		s.Cache = &v1alpha1.Cache{Control: pickAny(g, 50, policyconfig.CacheControlKeep, policyconfig.CacheControlNoStore), SkipCacheable: pickAny(g, 50, true, false)}
	}
	if g.IntN(3) == 0 {
		s.Revocation = &v1alpha1.Revocation{Epoch: pickAny(g, 50, int64(0), 9), NotBefore: pickAny(g, 50, v1alpha1.Time("2026-11-21T08:00:00Z"))}
	}
	return s
}

func (g *generator) randomCookie() *v1alpha1.Cookie {
	c := &v1alpha1.Cookie{
		LifetimeType: pickAny(g, 20, policyconfig.LifetimeSession, policyconfig.LifetimePermanent),
		Path:         pickAny(g, 30, "", "/", "/cart"),
		Domain:       pickAny(g, 20, "shop.example"),
		SameSite:     pickAny(g, 40, policyconfig.SameSiteNone, policyconfig.SameSiteLax),
		Secure:       pickAny(g, 40, true, false),
		HTTPOnly:     pickAny(g, 30, true, false),
		Partitioned:  pickAny(g, 30, true, false),
	}
	if g.IntN(4) == 0 {
		c.Attributes = []v1alpha1.CookieAttribute{"Priority=High", "Beta"}[:g.IntN(2)+1]
	}
	return c
}
