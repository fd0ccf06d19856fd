package xds

import (
	"strings"
	"time"
)

// drainTime is for how long listeners that Envoy has been told to drop serve those connections that they have, and a
// little more: it is Envoy's --drain-time-s, of which nobody tells.
const drainTime = 11 * time.Minute

// hasLeft tells whether a scope that the target does not have can go: listeners that drain look for it, and Envoy would
// answer 404. For one that only holds a table nothing looks.
func (c *client) hasLeft(scope string, now time.Time) bool {
	if strings.HasSuffix(scope, scopeMark) {
		return true
	}
	since, is := c.leaving[scope]
	if !is {
		c.leaving[scope] = now
	}
	return is && now.Sub(since) >= drainTime
}

// scopeMark is in the names of scopes, and of tables to which only these lead.
const scopeMark = "#"

// isOfScopes tells whether only scopes lead to a table.
func isOfScopes(name string) bool { return strings.Contains(name, scopeMark) }

// leadOn gives scopes that the target does not have, and cannot go yet, as ones that lead to the whole tables of their
// sites, where the Envoy has these: what they led to is not kept up to date.
func (c *client) leadOn(now time.Time) (changed []*Resource) {
	k := &c.types[ScopedRoutes]
	for scope, since := range c.leaving {
		site, _, _ := strings.Cut(scope, scopeMark)
		table := c.hasTable(site)
		if table == nil || table.LeadHere == nil || k.has[scope] == "" || now.Sub(since) >= drainTime {
			continue
		}
		if r := table.LeadHere(scope); r != nil && !k.isAt(scope, r.Version) {
			changed = append(changed, r)
		}
	}
	return changed
}
