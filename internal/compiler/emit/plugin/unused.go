package plugin

import (
	"iter"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// LongestUnused gives the longest time for which a session of the policies goes on without a request; those that end
// with nothing but their keys don't count.
func LongestUnused(policies iter.Seq[*policyconfig.Policy]) (longest time.Duration) {
	for p := range policies {
		longest = max(longest, p.LongestUnused())
	}
	return longest
}
