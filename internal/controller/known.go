package controller

import (
	"maps"
	"net/netip"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

// Known is what verdicts depend on besides objects and options: whose names and addresses are kept, and what is
// remembered of pods. Objects say all else. No key is in it.
type Known struct {
	Holders  *compiler.Holders                       `json:"holders,omitempty"`
	Owners   map[compiler.HostKey]compiler.HostOwner `json:"owners,omitempty"`
	Draining map[compiler.HostKey]time.Time          `json:"draining,omitempty"`
	Left     map[string]*compiler.SelectedPod        `json:"left,omitempty"`
	Nodes    *compiler.Nodes                         `json:"nodes,omitempty"`
	// Own and Remote are those of compiler.Served.
	Own    []netip.AddrPort `json:"own,omitempty"`
	Remote bool             `json:"remote,omitempty"`
}

// Known returns what is known now.
func (c *Controller) Known() Known {
	c.lock.Lock()
	defer c.lock.Unlock()
	r := &c.remembered
	if r.follower == nil || r.input == nil {
		return Known{}
	}
	k := Known{
		Holders: r.follower.Holders(), Draining: c.Memory.Draining.Since, Nodes: r.input.Nodes,
		Own: c.Served.Own, Remote: c.Served.Remote,
		Owners: map[compiler.HostKey]compiler.HostOwner{}, Left: map[string]*compiler.SelectedPod{},
	}
	for at, owner := range c.Memory.Owners.Of {
		if owner.Reused {
			k.Owners[at] = owner
		}
	}
	for key, pod := range c.Memory.Selected.Now.Pods {
		if !pod.Left.IsZero() {
			k.Left[key] = pod
		}
	}
	return k
}

// Set puts what is known into the options of a compilation of the same objects, so that it comes to the same verdicts.
func (k *Known) Set(o *compiler.Options) {
	o.Holders = k.Holders
	maps.DeleteFunc(k.Left, func(_ string, pod *compiler.SelectedPod) bool { return pod == nil })
	o.Envoy = &compiler.EnvoyOptions{Admin: compiler.NoAdmin, Served: &compiler.Served{
		Owners: k.Owners, Draining: k.Draining, Selection: compiler.NewSelection(k.Left), Nodes: k.Nodes, Own: k.Own,
		Remote: k.Remote,
	}}
}
