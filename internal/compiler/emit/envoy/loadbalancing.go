package envoy

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// lbPolicies is what Envoy calls the strategies. Of its two kinds of consistent hashing it is Maglev: its table has
// one size, 65,537 entries, whatever the weights, and gives each host its share within a few percent. A ring of the
// default size is off by a tenth with ten hosts, and with weights far apart it grows to millions of entries. That a
// change of hosts moves a few more clients than on a ring matters little, for tokens keep those that have sessions.
var lbPolicies = map[ir.Balancing]clusterv3.Cluster_LbPolicy{
	ir.RoundRobin:   clusterv3.Cluster_ROUND_ROBIN,
	ir.LeastRequest: clusterv3.Cluster_LEAST_REQUEST,
	ir.Random:       clusterv3.Cluster_RANDOM,
	ir.RequestHash:  clusterv3.Cluster_MAGLEV,
}

// newHashPolicies are a route's hashes. Clusters that don't balance by hash ignore them.
func newHashPolicies(hashes []ir.Hash) []*routev3.RouteAction_HashPolicy {
	var policies []*routev3.RouteAction_HashPolicy
	for _, h := range hashes {
		p := &routev3.RouteAction_HashPolicy{Terminal: h.Terminal}
		switch {
		case h.Header != "":
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Header_{Header: newHashHeader(h)}
		case h.Cookie != "":
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Cookie_{Cookie: newHashCookie(h)}
		case h.Query != "":
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_QueryParameter_{
				QueryParameter: &routev3.RouteAction_HashPolicy_QueryParameter{Name: h.Query},
			}
		default:
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_ConnectionProperties_{
				ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true},
			}
		}
		policies = append(policies, p)
	}
	return policies
}

// newHashHeader names a header, and what is replaced in its value for the hash alone.
func newHashHeader(h ir.Hash) *routev3.RouteAction_HashPolicy_Header {
	out := &routev3.RouteAction_HashPolicy_Header{HeaderName: h.Header}
	if h.Rewrite != "" {
		out.RegexRewrite = &matcherv3.RegexMatchAndSubstitute{
			Pattern: &matcherv3.RegexMatcher{Regex: h.Rewrite}, Substitution: h.Replacement,
		}
	}
	return out
}

// newHashCookie names a cookie; with a TTL Envoy makes one up where there is none.
func newHashCookie(h ir.Hash) *routev3.RouteAction_HashPolicy_Cookie {
	c := &routev3.RouteAction_HashPolicy_Cookie{Name: h.Cookie}
	if h.TTL != nil {
		c.Ttl, c.Path = durationpb.New(*h.TTL), h.Path
	}
	return c
}

// retriesAtOnce is how many retries of a cluster may be under way at one time when no budget says otherwise: as many
// as Envoy's default for requests. Its default for retries is three, and when a host dies all its sessions leave it at
// once: at three, most of their clients got 503.
const retriesAtOnce = 1024

// newCircuitBreakers cap the retries of a cluster.
func newCircuitBreakers(b *ir.RetryBudget) *clusterv3.CircuitBreakers {
	limits := &clusterv3.CircuitBreakers_Thresholds{MaxRetries: wrapperspb.UInt32(retriesAtOnce)}
	if b != nil {
		limits = &clusterv3.CircuitBreakers_Thresholds{RetryBudget: &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent:       &typev3.Percent{Value: float64(b.Percent)},
			BudgetInterval:      durationpb.New(b.Interval),
			MinRetryConcurrency: wrapperspb.UInt32(uint32(b.MinConcurrency)), // 1 to 1,000,000 by the schema
		}}
	}
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{limits}}
}
