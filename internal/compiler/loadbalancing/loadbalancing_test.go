package loadbalancing

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// document stands for the policy's own.
type document string

func (d document) Ref() object.Ref             { return object.Ref{Name: string(d)} }
func (d document) String() string              { return string(d) }
func (d document) Locate(string) (string, int) { return "in.yaml", 1 }

func headerHash(name string) v1alpha1.RequestHashPolicy {
	return v1alpha1.RequestHashPolicy{HeaderHashOptions: &v1alpha1.HeaderHashOptions{HeaderName: name}}
}

func rewrittenHash(name, regex, replacement string) v1alpha1.RequestHashPolicy {
	return v1alpha1.RequestHashPolicy{HeaderHashOptions: &v1alpha1.HeaderHashOptions{HeaderName: name, ValueRewriteRegex: regex, ValueRewriteReplacement: replacement}}
}

func cookieHash(name string, ttl, path *string) v1alpha1.RequestHashPolicy {
	return v1alpha1.RequestHashPolicy{CookieHashOptions: &v1alpha1.CookieHashOptions{CookieName: name, TTL: ttl, Path: path}}
}

func queryHash(name string) v1alpha1.RequestHashPolicy {
	return v1alpha1.RequestHashPolicy{QueryParameterHashOptions: &v1alpha1.QueryParameterHashOptions{ParameterName: name}}
}

var (
	sourceIP        = v1alpha1.RequestHashPolicy{HashSourceIP: true}
	conflictingHash = v1alpha1.RequestHashPolicy{HashSourceIP: true, HeaderHashOptions: &v1alpha1.HeaderHashOptions{HeaderName: "x"}}
)

func makeTerminal(p v1alpha1.RequestHashPolicy) v1alpha1.RequestHashPolicy {
	p.Terminal = true
	return p
}

func pointerTo[T any](v T) *T { return &v }

// TestReadPolicy holds what a strategy and its entries come to, and how many warnings they get.
//
// requirements: S51, S52
func TestReadPolicy(t *testing.T) {
	hour, second, session := pointerTo(time.Hour), pointerTo(time.Second), pointerTo(time.Duration(0))
	for name, c := range map[string]struct {
		strategy string
		entries  []v1alpha1.RequestHashPolicy
		want     ir.Balancing
		hashes   []ir.Hash
		warnings int
	}{
		"nothing is RoundRobin":           {},
		"RoundRobin":                      {strategy: "RoundRobin"},
		"WeightedLeastRequest":            {strategy: "WeightedLeastRequest", want: ir.LeastRequest},
		"Random":                          {strategy: "Random", want: ir.Random},
		"Cookie is a hash of its cookie":  {strategy: "Cookie", want: ir.RequestHash, hashes: []ir.Hash{{Cookie: contourCookie, TTL: session, Path: "/"}}, warnings: 1},
		"entries in order, with terminal": {"RequestHash", []v1alpha1.RequestHashPolicy{makeTerminal(headerHash("X-B")), headerHash("X-A")}, ir.RequestHash, []ir.Hash{{Terminal: true, Header: "x-b"}, {Header: "x-a"}}, 0},
		"every attribute":                 {"RequestHash", []v1alpha1.RequestHashPolicy{sourceIP, queryHash("q"), cookieHash("c", nil, nil)}, ir.RequestHash, []ir.Hash{{SourceIP: true}, {Query: "q"}, {Cookie: "c", Path: "/"}}, 0},
		"a cookie that is made up":        {"RequestHash", []v1alpha1.RequestHashPolicy{cookieHash("c", pointerTo("60m"), pointerTo("/p"))}, ir.RequestHash, []ir.Hash{{Cookie: "c", TTL: hour, Path: "/p"}}, 0},
		"a part of a second is one":       {"RequestHash", []v1alpha1.RequestHashPolicy{cookieHash("c", pointerTo("1ms"), nil)}, ir.RequestHash, []ir.Hash{{Cookie: "c", TTL: second, Path: "/"}}, 0},
		"an unknown strategy":             {strategy: "roundrobin", warnings: 1},
		"RequestHash alone":               {strategy: "RequestHash", warnings: 1},
		"no entry that counts":            {"RequestHash", []v1alpha1.RequestHashPolicy{{}}, ir.RoundRobin, nil, 2},
		"entries with Random":             {"Random", []v1alpha1.RequestHashPolicy{sourceIP}, ir.Random, nil, 1},
		"entries with Cookie":             {"Cookie", []v1alpha1.RequestHashPolicy{sourceIP}, ir.RequestHash, []ir.Hash{{Cookie: contourCookie, TTL: session, Path: "/"}}, 2},
		"two options":                     {"RequestHash", []v1alpha1.RequestHashPolicy{conflictingHash, sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 1},
		"names that are none":             {"RequestHash", []v1alpha1.RequestHashPolicy{headerHash("a b"), headerHash(""), cookieHash("a;b", nil, nil), queryHash(""), sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 4},
		"a pseudo-header":                 {"RequestHash", []v1alpha1.RequestHashPolicy{headerHash(":authority"), sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 1},
		"ttl and path that are none":      {"RequestHash", []v1alpha1.RequestHashPolicy{cookieHash("c", pointerTo("-1h"), nil), cookieHash("c", pointerTo("1.5h"), nil), cookieHash("c", nil, pointerTo("p")), sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 3},
		"headers without regard to case":  {"RequestHash", []v1alpha1.RequestHashPolicy{headerHash("X-A"), makeTerminal(headerHash("x-a"))}, ir.RequestHash, []ir.Hash{{Header: "x-a"}}, 1},
		"cookies with regard to case":     {"RequestHash", []v1alpha1.RequestHashPolicy{cookieHash("c", nil, nil), cookieHash("C", nil, nil), cookieHash("c", pointerTo("1h"), nil)}, ir.RequestHash, []ir.Hash{{Cookie: "c", Path: "/"}, {Cookie: "C", Path: "/"}}, 1},
		"a value that is rewritten":       {"RequestHash", []v1alpha1.RequestHashPolicy{rewrittenHash("X-A", "^(.)-.*", `\1\\`), headerHash("x-a")}, ir.RequestHash, []ir.Hash{{Header: "x-a", Rewrite: "^(.)-.*", Replacement: `\1\\`}, {Header: "x-a"}}, 0},
		"rewritings that are none":        {"RequestHash", []v1alpha1.RequestHashPolicy{rewrittenHash("x", "(", ""), rewrittenHash("x", "", "a"), rewrittenHash("x", "a", `\1`), rewrittenHash("x", "a", `\`), rewrittenHash("x", "a", `\a`), rewrittenHash("x", "a", "\n"), sourceIP}, ir.RequestHash, []ir.Hash{{SourceIP: true}}, 6},
		"an invalid one repeats nothing":  {"RequestHash", []v1alpha1.RequestHashPolicy{conflictingHash, headerHash("x")}, ir.RequestHash, []ir.Hash{{Header: "x"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			rep := &report.Report{}
			spec := &v1alpha1.LoadBalancerPolicySpec{Strategy: pointerTo(v1alpha1.Strategy(c.strategy)), RequestHashPolicies: c.entries}
			p := readPolicy("p", document("p"), field.NewPath("spec"), spec, rep)
			var got []ir.Hash
			for _, h := range p.hashes {
				got = append(got, h.Hash)
			}
			if p.strategy != c.want || !slices.EqualFunc(got, c.hashes, ir.Hash.Equal) || len(rep.Warnings()) != c.warnings || len(rep.Unreadable()) > 0 {
				t.Errorf("got %q %+v and warnings %v; want %q %+v and %d", p.strategy, got, rep.Warnings(), c.want, c.hashes, c.warnings)
			}
		})
	}
}

// TestNearStrategy names the strategy that may be meant.
func TestNearStrategy(t *testing.T) {
	var rep report.Report
	strategy := v1alpha1.Strategy("roundrobin")
	readPolicy("p", document("p"), field.NewPath("spec"), &v1alpha1.LoadBalancerPolicySpec{Strategy: &strategy}, &rep)
	compilertest.CheckProblems(t, rep.Warnings(), `"Cookie" (did you mean RoundRobin?): RoundRobin is used instead`)
}

func newPolicy(name string, rank int, strategy ir.Balancing, hashes ...ir.Hash) *Policy {
	p := &Policy{Name: name, subject: document(name), specPath: field.NewPath("spec"), strategy: strategy, rank: rank}
	for _, h := range hashes {
		p.hashes = append(p.hashes, hashEntry{h, field.NewPath("spec", "requestHashPolicies").Index(0)})
	}
	return p
}

// candidatesOf has one candidate for each backend, or none.
func candidatesOf(policies ...*Policy) [][]Candidate {
	all := make([][]Candidate, len(policies))
	for i, p := range policies {
		if p != nil {
			all[i] = []Candidate{{Policy: p}}
		}
	}
	return all
}

// TestResolve holds what several policies in one rule come to.
//
// requirements: S35, S36, S37, S52, S53, S54
func TestResolve(t *testing.T) {
	ip, user, own := ir.Hash{SourceIP: true}, ir.Hash{Header: "x-user"}, ir.Hash{Cookie: "cart"}
	byIP, byUser, byOwn := newPolicy("ip", 2, ir.RequestHash, ip), newPolicy("user", 1, ir.RequestHash, user), newPolicy("own", 0, ir.RequestHash, own)
	mixed, random := newPolicy("mixed", 4, ir.RequestHash, own, ip), newPolicy("random", 3, ir.Random)
	alike := newPolicy("alike", 5, ir.RequestHash, ip)
	hash, turn := ir.RequestHash, ir.RoundRobin
	for name, c := range map[string]struct {
		rule   Rule
		want   []ir.Balancing
		hashes []ir.Hash
		warned []string // the policies that don't hold in full
	}{
		"no policy":                           {Rule{Candidates: candidatesOf(nil, nil)}, []ir.Balancing{turn, turn}, nil, nil},
		"each Service its own strategy":       {Rule{Candidates: candidatesOf(byIP, random, nil)}, []ir.Balancing{hash, ir.Random, turn}, []ir.Hash{ip}, nil},
		"one list, the older's":               {Rule{Candidates: candidatesOf(byIP, byUser)}, []ir.Balancing{turn, hash}, []ir.Hash{user}, []string{"ip"}},
		"equal lists do not conflict":         {Rule{Candidates: candidatesOf(byIP, alike)}, []ir.Balancing{hash, hash}, []ir.Hash{ip}, nil},
		"one session, one strategy":           {Rule{Candidates: candidatesOf(random, nil), SharedSession: true}, []ir.Balancing{ir.Random, ir.Random}, nil, nil},
		"one session, the older's":            {Rule{Candidates: candidatesOf(random, byIP), SharedSession: true}, []ir.Balancing{hash, hash}, []ir.Hash{ip}, []string{"random"}},
		"one session, equal policies":         {Rule{Candidates: candidatesOf(byIP, alike), SharedSession: true}, []ir.Balancing{hash, hash}, []ir.Hash{ip}, nil},
		"the session's own cookie":            {Rule{Candidates: candidatesOf(mixed), SessionCookies: []string{"cart"}}, []ir.Balancing{hash}, []ir.Hash{ip}, []string{"mixed"}},
		"nothing but the session's cookie":    {Rule{Candidates: candidatesOf(byOwn), SharedSession: true, SessionCookies: []string{"cart"}}, []ir.Balancing{turn}, nil, []string{"own", "own"}},
		"the cookie of a session elsewhere":   {Rule{Candidates: candidatesOf(byOwn), SessionCookies: []string{"Cart"}}, []ir.Balancing{hash}, []ir.Hash{own}, nil},
		"a policy on the rule of a session":   {Rule{Candidates: candidatesOf(byUser, byUser), SharedSession: true}, []ir.Balancing{hash, hash}, []ir.Hash{user}, nil},
		"a backendRef that leads nowhere":     {Rule{Candidates: candidatesOf(nil, byUser), SharedSession: true}, []ir.Balancing{hash, hash}, []ir.Hash{user}, nil},
		"a rule without backends":             {Rule{}, nil, nil, nil},
		"sessions of their own, two policies": {Rule{Candidates: candidatesOf(random, byIP)}, []ir.Balancing{ir.Random, hash}, []ir.Hash{ip}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			rep := &report.Report{}
			outcomes, hashes := c.rule.Resolve(rep)
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
		name := attributeName(h)
		if seen[name] || strings.TrimSpace(name) == "" {
			t.Errorf("%+v is %q, and so is another", h, name)
		}
		seen[name] = true
	}
}
