package xds

import (
	"bytes"
	"fmt"
	"maps"
)

// An Envoy takes a table of routes whole or not at all. Of one whose hosts are known it is found out which it does not
// take, so that no host waits for another one: it gets half of those hosts that are new to it, then half of these,
// until the one at fault is alone. That one stays as the Envoy has it, or without routes where it has none, until there
// is something else of it.

// Host is a virtual host of a table.
type Host struct {
	Name    string
	Content []byte // nil for one without routes
}

// hostSearch is what an Envoy did not take of a table's hosts.
type hostSearch struct {
	refused map[string]refusedHost
	// limit is how many new hosts the table may have while the one is looked for that is at fault; 0 is all.
	limit int
	// grows says that the one is not where it was looked for: there may be more of them.
	grows bool
	// form is the table for this Envoy, as it is made of one; nil before it is made.
	of, form *Resource
}

type refusedHost struct {
	content []byte
	Rejection
}

// formTable is a table without what the Envoy did not take.
func (k *clientType) formTable(t Type, r *Resource) *Resource {
	s := k.searches[r.Name]
	if s == nil || r.WriteHosts == nil {
		return r
	}
	if s.of != r || s.form == nil {
		s.of, s.form = r, s.makeForm(t, r, k.bases[r.Name])
	}
	return s.form
}

func (s *hostSearch) makeForm(t Type, r, base *Resource) *Resource {
	known, hosts, contents := base.hostContents(), make([]Host, len(r.Hosts)), make([][]byte, len(r.Hosts))
	taken, isWhole := 0, true
	for i, h := range r.Hosts {
		was, isKnown := known[h.Name]
		switch refused, is := s.refused[h.Name]; {
		case isKnown && bytes.Equal(was, h.Content):
		case is && bytes.Equal(refused.content, h.Content), s.limit > 0 && taken >= s.limit:
			h.Content, isWhole = was, false
		default:
			taken++
		}
		hosts[i], contents[i] = h, h.Content
	}
	if isWhole {
		return r
	}
	form := NewResource(t, r.Name, r.WriteHosts(contents))
	form.Needs, form.After, form.Whole, form.LeadHere = r.Needs, r.After, r.Whole, r.LeadHere
	form.Hosts, form.WriteHosts = hosts, r.WriteHosts
	return form
}

// hostContents gives a table's hosts by name; none of nil.
func (r *Resource) hostContents() map[string][]byte {
	if r == nil {
		return nil
	}
	contents := make(map[string][]byte, len(r.Hosts))
	for _, h := range r.Hosts {
		contents[h.Name] = h.Content
	}
	return contents
}

// noteHosts notes which form of a table with hosts the Envoy has taken.
func (k *clientType) noteHosts(r *Resource) {
	k.bases[r.Name] = r
	s := k.searches[r.Name]
	switch {
	case s == nil:
		return
	case s.of == r:
		s.limit = 0
	case s.grows:
		s.limit *= 2
	case s.limit == 1:
		s.grows = true
	default:
		s.limit /= 2
	}
	if s.form = nil; s.limit == 0 && len(s.refused) == 0 {
		delete(k.searches, r.Name)
	}
}

// rejectHost goes on with the search for the host at fault in a table that an Envoy did not take; false where there is
// none to be found: it has none that is new, or what it has is not known.
func (c *client) rejectHost(t Type, r *Resource, why Rejection) bool {
	k := &c.types[t]
	base := k.bases[r.Name]
	if r.WriteHosts == nil || k.has[r.Name] != "" && (base == nil || base.Version != k.has[r.Name]) {
		return false
	}
	if k.has[r.Name] == "" {
		base = nil
	}
	var added []Host
	known := base.hostContents()
	for _, h := range r.Hosts {
		if was, is := known[h.Name]; h.Content != nil && (!is || !bytes.Equal(was, h.Content)) {
			added = append(added, h)
		}
	}
	if len(added) == 0 {
		return false
	}
	s := k.searches[r.Name]
	if s == nil {
		s = &hostSearch{refused: map[string]refusedHost{}}
		k.searches[r.Name] = s
	}
	s.form, s.limit, s.grows = nil, len(added)/2, false
	if len(added) == 1 {
		why.Name, why.Version = fmt.Sprintf("%s, host %s", r.Name, added[0].Name), r.Version
		s.refused[added[0].Name] = refusedHost{added[0].Content, why}
		c.observe.rejected(why)
	}
	return true
}

// forgetRefused forgets the hosts of which the target has something else than what the Envoy did not take.
func (c *client) forgetRefused(t Type) {
	k := &c.types[t]
	for name, s := range k.searches {
		contents := c.target.findResource(t, name).hostContents()
		maps.DeleteFunc(s.refused, func(host string, refused refusedHost) bool {
			now, is := contents[host]
			return !is || !bytes.Equal(now, refused.content)
		})
		if s.form, s.limit = nil, 0; len(s.refused) == 0 {
			delete(k.searches, name)
		}
	}
}
