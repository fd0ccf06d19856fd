package inspect

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/token"
)

// Host is where a session lives.
type Host struct {
	Address string `json:"address"`
	// Who says of whoever has the address by the input who it is, and whether it serves.
	Who []string `json:"who,omitempty"`
}

// hosts find what an input says of hosts and of the tags in tokens.
type hosts struct {
	byAddress map[string][]compiler.SessionEndpoint
	byOwner   map[uint64]string
	byBackend map[uint32]string
}

func newHosts(of *compiler.Sessions) hosts {
	h := hosts{map[string][]compiler.SessionEndpoint{}, map[uint64]string{}, map[uint32]string{}}
	for _, name := range of.Backends {
		h.byBackend[token.BackendTag(name)] = name
	}
	for _, e := range of.Endpoints {
		h.byAddress[e.Host] = append(h.byAddress[e.Host], e)
		if e.UID != "" {
			h.byOwner[token.PodTag(e.UID)] = fmt.Sprintf("Pod %s, at %s", e.Pod, e.Host)
		}
		for _, port := range e.Backends {
			if e.Hostname != "" {
				h.byOwner[token.NameTag(port+"/"+e.Hostname)] = fmt.Sprintf("%s of %s, at %s", e.Hostname, port, e.Host)
			}
		}
	}
	return h
}

// isThere tells whether an address is that of an endpoint that serves.
func (h *hosts) isThere(address string) bool {
	return slices.ContainsFunc(h.byAddress[address], func(e compiler.SessionEndpoint) bool { return e.Serving })
}

// list says who has an address.
func (h *hosts) list(address string) (all []string) {
	for _, e := range h.byAddress[address] {
		text := "an endpoint of Service " + e.Service
		if e.Pod != "" {
			text = "Pod " + e.Pod + ", " + text
		}
		switch {
		case !e.Serving:
			text += ", not serving"
		case e.Terminating:
			text += ", terminating"
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// describe says what a token says.
func (x *inspector) describe(session *token.Session, hidden bool) *Session {
	s := &Session{
		Began:    unixTime(session.IssuedAt),
		LastSeen: unixTime(session.LastSeen),
		Epoch:    session.Epoch,
		Hidden:   hidden,
	}
	if hidden || session.Host == (token.Host{}) {
		return s
	}
	s.Host = &Host{session.Host.String(), x.hosts.list(session.Host.String())}
	parts := &session.Parts
	if parts.ID != 0 {
		s.ID = fmt.Sprintf("%016x", parts.ID)
	}
	if parts.Backend != 0 {
		s.Backend = &Named{x.hosts.byBackend[parts.Backend], hex32(parts.Backend)}
	}
	if parts.Owner != 0 {
		s.Owner = &Named{x.hosts.byOwner[parts.Owner], fmt.Sprintf("%016x", parts.Owner)}
	}
	return s
}
