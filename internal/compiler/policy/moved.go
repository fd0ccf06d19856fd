package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// keptCookies is where browsers keep the cookies of a scope: below which paths and, without a Domain, for which hosts.
type keptCookies struct {
	paths, hosts []string
}

// indexCookies gives where the cookies of each scope are, on all listeners. The application keeps those of an envelope.
func (d *Decisions) indexCookies() map[string]keptCookies {
	all := map[string]keptCookies{}
	for _, r := range d.named {
		for _, c := range r.claims {
			if !c.isOwnCookie() {
				continue
			}
			kept := all[c.scope]
			kept.paths = append(kept.paths, c.extent.paths...)
			if c.extent.within == "" {
				kept.hosts = append(kept.hosts, c.extent.hostnames...)
			}
			all[c.scope] = kept
		}
	}
	return all
}

// describeMove says where an edit moves the cookies of a scope, so that clients begin again or have two of them; empty
// if it does not.
func describeMove(was, is keptCookies) string {
	equal := func(a, b string) bool { return a == b }
	if gone, new := findMoved(was.paths, is.paths, equal); len(gone) > 0 {
		return fmt.Sprintf(
			"its cookie had the path %q and has %q: clients begin again where the new path is not below the old one, and "+
				"have two cookies of the rule; with cookie.path: / its path stays what it is when matches change",
			strings.Join(gone, ", "),
			strings.Join(new, ", "),
		)
	}
	if gone, new := findMoved(was.hosts, is.hosts, gateway.HostsIntersect); len(gone) > 0 {
		return fmt.Sprintf("its host was %s and is %s, and the cookie is its host's alone: "+
			"a cookie.domain that both are below keeps sessions when hosts change", strings.Join(gone, ", "),
			strings.Join(new, ", "))
	}
	return ""
}

// findMoved gives those places that meet none of the others, if there are some on both sides; empty for none.
func findMoved(was, is []string, meet func(a, b string) bool) (gone, new []string) {
	gone, new = listBeside(was, is, meet), listBeside(is, was, meet)
	if len(gone) == 0 || len(new) == 0 {
		return nil, nil
	}
	return gone, new
}

// listBeside lists the places that meet none of others.
func listBeside(places, others []string, meet func(a, b string) bool) (beside []string) {
	for _, p := range places {
		if !slices.Contains(beside, p) && !slices.ContainsFunc(others, func(o string) bool { return meet(p, o) }) {
			beside = append(beside, p)
		}
	}
	return beside
}
