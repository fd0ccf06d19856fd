package plugin

import (
	"iter"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// LongestUnused returns the longest time that a session of the policies lasts without a request. Sessions that end only
// with their keys don't count.
func LongestUnused(policies iter.Seq[*policyconfig.Policy]) (longest time.Duration) {
	for p := range policies {
		longest = max(longest, p.LongestUnused())
	}
	return longest
}
