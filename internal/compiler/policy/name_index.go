package policy

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// nameIndex finds sessions of one name that some client would take for one another (S28, S29). It is filled in the
// order of age.
type nameIndex struct {
	// wildcards are the hostnames of sessions that stand for several hosts, and pathless says that a cookie has no path.
	wildcards map[string]bool
	pathless  bool
	// at holds the claims at each hostname, if some stand for several hosts; below those at the hostnames that one covers,
	// itself included.
	at, below map[place]claimPair
}

// place is where sessions of one name meet: under a Domain or on a Gateway, at a hostname and a path.
type place struct{ name, within, hostname, path string }

// anyPath is any of the paths of a place. It is there if a cookie has no path.
const anyPath = "*"

// claimPair are the first claim and the first of another owner: enough to find one of an owner that is not one's own.
type claimPair struct{ first, other *claim }

// newNameIndex makes one for some claimants.
func newNameIndex(all []*claimant) *nameIndex {
	x := &nameIndex{wildcards: map[string]bool{}, at: map[place]claimPair{}, below: make(map[place]claimPair, len(all))}
	for _, one := range all {
		for _, c := range one.claims {
			x.pathless = x.pathless || slices.Contains(c.extent.paths, "")
			for _, h := range c.extent.hostnames {
				if strings.HasPrefix(h, "*") {
					x.wildcards[h] = true
				}
			}
		}
	}
	return x
}

// widerHostnames gives the hostnames that cover another and are those of some claim.
func (x *nameIndex) widerHostnames(hostname string) []string {
	if len(x.wildcards) == 0 {
		return nil
	}
	return slices.DeleteFunc(gateway.Coverings(hostname), func(h string) bool { return h == hostname || !x.wildcards[h] })
}

// add adds a claimant under a name.
func (x *nameIndex) add(by *claimant, name string) {
	for _, c := range by.claims {
		for _, h := range c.extent.hostnames {
			spot := place{name: name, within: c.extent.within, hostname: h}
			x.addAt(x.below, spot, c)
			if len(x.wildcards) == 0 {
				continue
			}
			x.addAt(x.at, spot, c)
			for _, wider := range x.widerHostnames(h) {
				spot.hostname = wider
				x.addAt(x.below, spot, c)
			}
		}
	}
}

func (x *nameIndex) addAt(spots map[place]claimPair, spot place, c *claim) {
	note := func(path string) {
		spot.path = path
		switch p := spots[spot]; {
		case p.first == nil:
			spots[spot] = claimPair{first: c}
		case p.other == nil && p.first.extent.owner != c.extent.owner:
			spots[spot] = claimPair{p.first, c}
		}
	}
	if x.pathless {
		note(anyPath)
	}
	for _, path := range c.extent.paths {
		note(path)
	}
}

// findRival gives a claim of another owner that a client could take for one of a claimant under a name; nil if there is
// none.
func (x *nameIndex) findRival(by *claimant, name string) *claim {
	for _, c := range by.claims {
		for _, h := range c.extent.hostnames {
			spot := place{name: name, within: c.extent.within, hostname: h}
			if rival := x.findRivalAt(x.below, spot, c); rival != nil {
				return rival
			}
			for _, wider := range x.widerHostnames(h) {
				spot.hostname = wider
				if rival := x.findRivalAt(x.at, spot, c); rival != nil {
					return rival
				}
			}
		}
	}
	return nil
}

func (x *nameIndex) findRivalAt(spots map[place]claimPair, spot place, c *claim) *claim {
	for _, path := range c.extent.paths {
		meets := []string{path, ""}
		switch {
		case path == "":
			meets = []string{anyPath}
		case !x.pathless:
			meets = meets[:1]
		}
		for _, path := range meets {
			spot.path = path
			at := spots[spot]
			for _, r := range []*claim{at.first, at.other} {
				if r != nil && r.extent.owner != c.extent.owner {
					return r
				}
			}
		}
	}
	return nil
}
