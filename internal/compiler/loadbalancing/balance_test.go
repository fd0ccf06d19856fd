package loadbalancing

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// document stands for the policy's own.
type document string

func (d document) String() string              { return string(d) }
func (d document) Locate(string) (string, int) { return "in.yaml", 1 }

func header(name string) v1alpha1.RequestHashPolicy {
	return v1alpha1.RequestHashPolicy{HeaderHashOptions: &v1alpha1.HeaderHashOptions{HeaderName: name}}
}

func cookie(name string, ttl, path *string) v1alpha1.RequestHashPolicy {
	return v1alpha1.RequestHashPolicy{CookieHashOptions: &v1alpha1.CookieHashOptions{CookieName: name, TTL: ttl, Path: path}}
}

func query(name string) v1alpha1.RequestHashPolicy {
	return v1alpha1.RequestHashPolicy{QueryParameterHashOptions: &v1alpha1.QueryParameterHashOptions{ParameterName: name}}
}

var (
	sourceIP = v1alpha1.RequestHashPolicy{HashSourceIP: true}
	both     = v1alpha1.RequestHashPolicy{HashSourceIP: true, HeaderHashOptions: &v1alpha1.HeaderHashOptions{HeaderName: "x"}}
)

func terminal(p v1alpha1.RequestHashPolicy) v1alpha1.RequestHashPolicy {
	p.Terminal = true
	return p
}

func to[T any](v T) *T { return &v }

// TestRead holds what a strategy and its entries come to, and how many warnings they get.
func TestRead(t *testing.T) {
	hour, second, session := to(time.Hour), to(time.Second), to(time.Duration(0))
	for name, c := range map[string]struct {
		strategy string
		entries  []v1alpha1.RequestHashPolicy
		want     ir.Balancing
		hashes   []ir.Hash
		warnings int
	}{
		"S51: nothing is RoundRobin":           {},
		"S51: RoundRobin":                      {strategy: "RoundRobin"},
		"S51: WeightedLeastRequest":            {strategy: "WeightedLeastRequest", want: ir.LeastRequest},
		"S51: Random":                          {strategy: "Random", want: ir.Random},
		"S51: Cookie is a hash of its cookie":  {strategy: "Cookie", want: ir.RequestHash, hashes: []ir.Hash{{Cookie: contourCookie, TTL: session, Path: "/"}}},
		"S51: entries in order, with terminal": {"RequestHash", []v1alpha1.RequestHashPolicy{terminal(header("X-B")), header("X-A")}, ir.RequestHash, []ir.Hash{{Terminal: true, Header: "x-b"}, {Header: "x-a"}}, 0},
		"S51: every attribute":                 {"RequestHash", []v1alpha1.RequestHashPolicy{sourceIP, query("q"), cookie("c", nil, nil)}, ir.RequestHash, []ir.Hash{{SourceIP: true}, {Query: "q"}, {Cookie: "c", Path: "/"}}, 0},
		"S51: a cookie that is made up":        {"RequestHash", []v1alpha1.RequestHashPolicy{cookie("c", to("60m"), to("/p"))}, ir.RequestHash, []ir.Hash{{Cookie: "c", TTL: hour, Path: "/p"}}, 0},
		"S51: a part of a second is one":       {"RequestHash", []v1alpha1.RequestHashPolicy{cookie("c", to("1ms"), nil)}, ir.RequestHash, []ir.Hash{{Cookie: "c", TTL: second, Path: "/"}}, 0},
		"S52: an unknown strategy":             {strategy: "roundrobin", warnings: 1},
		"S52: RequestHash alone":               {strategy: "RequestHash", warnings: 1},
		"S52: no entry that counts":            {"RequestHash", []v1alpha1.RequestHashPolicy{{}}, ir.RoundRobin, nil, 2},
		"S52: entries beside Random":           {"Random", []v1alpha1.RequestHashPolicy{sourceIP}, ir.Random, nil, 1},
		"S52: entries beside Cookie":           {"Cookie", []v1alpha1.RequestHashPolicy{sourceIP}, ir.RequestHash, []ir.Hash{{Cookie: contourCookie, TTL: session, Path: "/"}}, 1},
		"S52: two options":                     {"RequestHash", []v1alpha1.RequestHashPolicy{both, sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 1},
		"S52: names that are none":             {"RequestHash", []v1alpha1.RequestHashPolicy{header("a b"), header(""), cookie("a;b", nil, nil), query(""), sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 4},
		"S52: a pseudo-header":                 {"RequestHash", []v1alpha1.RequestHashPolicy{header(":authority"), sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 1},
		"S52: ttl and path that are none":      {"RequestHash", []v1alpha1.RequestHashPolicy{cookie("c", to("-1h"), nil), cookie("c", to("1.5h"), nil), cookie("c", nil, to("p")), sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 3},
		"S52: headers without regard to case":  {"RequestHash", []v1alpha1.RequestHashPolicy{header("X-A"), terminal(header("x-a"))}, ir.RequestHash, []ir.Hash{{Header: "x-a"}}, 1},
		"S52: cookies with regard to case":     {"RequestHash", []v1alpha1.RequestHashPolicy{cookie("c", nil, nil), cookie("C", nil, nil), cookie("c", to("1h"), nil)}, ir.RequestHash, []ir.Hash{{Cookie: "c", Path: "/"}, {Cookie: "C", Path: "/"}}, 1},
		"S52: an invalid one repeats nothing":  {"RequestHash", []v1alpha1.RequestHashPolicy{both, header("x")}, ir.RequestHash, []ir.Hash{{Header: "x"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			rep := &report.Report{}
			spec := &v1alpha1.LoadBalancerPolicySpec{Strategy: to(v1alpha1.Strategy(c.strategy)), RequestHashPolicies: c.entries}
			p := read("p", document("p"), field.NewPath("spec"), spec, rep)
			var got []ir.Hash
			for _, h := range p.hashes {
				got = append(got, h.Hash)
			}
			if p.strategy != c.want || !slices.EqualFunc(got, c.hashes, ir.Hash.Equal) || len(rep.Warnings()) != c.warnings || rep.Failed() {
				t.Errorf("got %q %+v and warnings %v; want %q %+v and %d", p.strategy, got, rep.Warnings(), c.want, c.hashes, c.warnings)
			}
		})
	}
}

func policyOf(name string, rank int, strategy ir.Balancing, hashes ...ir.Hash) *Policy {
	p := &Policy{Name: name, about: document(name), at: field.NewPath("spec"), strategy: strategy, rank: rank}
	for _, h := range hashes {
		p.hashes = append(p.hashes, hash{h, field.NewPath("spec", "requestHashPolicies").Index(0)})
	}
	return p
}

// each has one candidate for each backend, or none.
func each(policies ...*Policy) [][]Candidate {
	all := make([][]Candidate, len(policies))
	for i, p := range policies {
		if p != nil {
			all[i] = []Candidate{{Policy: p}}
		}
	}
	return all
}

// TestSettle holds what several policies in one rule come to.
func TestSettle(t *testing.T) {
	ip, user, own := ir.Hash{SourceIP: true}, ir.Hash{Header: "x-user"}, ir.Hash{Cookie: "cart"}
	byIP, byUser, byOwn := policyOf("ip", 2, ir.RequestHash, ip), policyOf("user", 1, ir.RequestHash, user), policyOf("own", 0, ir.RequestHash, own)
	mixed, random := policyOf("mixed", 4, ir.RequestHash, own, ip), policyOf("random", 3, ir.Random)
	alike := policyOf("alike", 5, ir.RequestHash, ip)
	hash, turn := ir.RequestHash, ir.RoundRobin
	for name, c := range map[string]struct {
		rule   Rule
		want   []ir.Balancing
		hashes []ir.Hash
		warned []string // the policies that don't hold in full
	}{
		"S53: nobody says anything":                {Rule{Candidates: each(nil, nil)}, []ir.Balancing{turn, turn}, nil, nil},
		"S53: each Service its own strategy":       {Rule{Candidates: each(byIP, random, nil)}, []ir.Balancing{hash, ir.Random, turn}, []ir.Hash{ip}, nil},
		"S53: one list, the older's":               {Rule{Candidates: each(byIP, byUser)}, []ir.Balancing{turn, hash}, []ir.Hash{user}, []string{"ip"}},
		"S53: equal lists do not conflict":         {Rule{Candidates: each(byIP, alike)}, []ir.Balancing{hash, hash}, []ir.Hash{ip}, nil},
		"S36: one session, one strategy":           {Rule{Candidates: each(random, nil), Together: true}, []ir.Balancing{ir.Random, ir.Random}, nil, nil},
		"S36: one session, the older's":            {Rule{Candidates: each(random, byIP), Together: true}, []ir.Balancing{hash, hash}, []ir.Hash{ip}, []string{"random"}},
		"S36: one session, equal policies":         {Rule{Candidates: each(byIP, alike), Together: true}, []ir.Balancing{hash, hash}, []ir.Hash{ip}, nil},
		"S52: the session's own cookie":            {Rule{Candidates: each(mixed), SessionCookies: []string{"cart"}}, []ir.Balancing{hash}, []ir.Hash{ip}, []string{"mixed"}},
		"S52: nothing but the session's cookie":    {Rule{Candidates: each(byOwn), Together: true, SessionCookies: []string{"cart"}}, []ir.Balancing{turn}, nil, []string{"own", "own"}},
		"S52: the cookie of a session elsewhere":   {Rule{Candidates: each(byOwn), SessionCookies: []string{"Cart"}}, []ir.Balancing{hash}, []ir.Hash{own}, nil},
		"S54: a policy on the rule of a session":   {Rule{Candidates: each(byUser, byUser), Together: true}, []ir.Balancing{hash, hash}, []ir.Hash{user}, nil},
		"S35: a backendRef that leads nowhere":     {Rule{Candidates: each(nil, byUser), Together: true}, []ir.Balancing{hash, hash}, []ir.Hash{user}, nil},
		"S53: a rule without backends":             {Rule{}, nil, nil, nil},
		"S37: sessions of their own, two policies": {Rule{Candidates: each(random, byIP)}, []ir.Balancing{ir.Random, hash}, []ir.Hash{ip}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			rep := &report.Report{}
			outcomes, hashes := c.rule.Settle(rep)
			var got []ir.Balancing
			for _, o := range outcomes {
				got = append(got, o.Strategy)
			}
			var warned []string
			for _, w := range rep.Warnings() {
				warned = append(warned, w.Object)
			}
			if !slices.Equal(got, c.want) || !slices.EqualFunc(hashes, c.hashes, ir.Hash.Equal) || !slices.Equal(warned, c.warned) {
				t.Errorf("got %q %+v and warnings about %v; want %q %+v and %v", got, hashes, warned, c.want, c.hashes, c.warned)
			}
		})
	}
}

// TestNamesOfAttributes holds what duplicates are named by, for a name must not hide another attribute.
func TestNamesOfAttributes(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range []ir.Hash{{Header: "a"}, {Cookie: "a"}, {Query: "a"}, {SourceIP: true}, {Header: "source"}, {Query: "cookie a"}} {
		name := attribute(h)
		if seen[name] || strings.TrimSpace(name) == "" {
			t.Errorf("%+v is %q, and so is another", h, name)
		}
		seen[name] = true
	}
}
