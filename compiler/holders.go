package compiler

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// Holders are who had what in a result. What of it they still claim stays theirs in the next compilation, whatever
// dates, names and places in the input say.
type Holders struct {
	claims gateway.Claims
	names  policy.HeldNames
	hosts  gateway.SoleHosts
}

// holdersText is how holders are written.
type holdersText struct {
	Claims []gateway.Claim  `json:"claims,omitempty"`
	Names  policy.HeldNames `json:"names,omitempty"`
	Hosts  []hostText       `json:"hosts,omitempty"`
}

// hostText is a host on a listener, and the route that has it.
type hostText struct {
	gateway.SoleHost
	Route object.Ref
}

// MarshalJSON is for another process, which asks what is decided here.
func (i *Holders) MarshalJSON() ([]byte, error) {
	text := holdersText{Names: i.names}
	for c, has := range i.claims {
		if has {
			text.Claims = append(text.Claims, c)
		}
	}
	slices.SortFunc(text.Claims, func(a, b gateway.Claim) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Gateway.String(), b.Gateway.String()))
	})
	for h, route := range i.hosts {
		text.Hosts = append(text.Hosts, hostText{h, route})
	}
	slices.SortFunc(text.Hosts, func(a, b hostText) int {
		return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(a.Listener, b.Listener),
			strings.Compare(a.Name, b.Name))
	})
	return json.Marshal(text)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Holders) UnmarshalJSON(from []byte) error {
	var text holdersText
	if err := json.Unmarshal(from, &text); err != nil {
		return err
	}
	*i = Holders{claims: gateway.Claims{}, names: text.Names, hosts: gateway.SoleHosts{}}
	for _, c := range text.Claims {
		i.claims[c] = true
	}
	for _, h := range text.Hosts {
		i.hosts[h.SoleHost] = h.Route
	}
	return nil
}

// findHolders notes who has what.
func (j *analysis) findHolders() *Holders {
	return &Holders{claims: j.Topology.Claims(), names: j.Decisions.HeldNames(), hosts: j.Topology.SoleHosts()}
}

// newOrder is who was there first, among objects that claim what others may have.
func newOrder(sources []Source, objects *resource.Objects) *seniority.Order {
	listFiles := func() []string {
		files := make([]string, len(sources))
		for i, s := range sources {
			files[i] = s.Name
		}
		return files
	}
	return seniority.New(listFiles, objects.VisitClaimants)
}

// listening says where Gateways may listen.
func (o *Options) listening(order *seniority.Order) gateway.Listening {
	l := gateway.Listening{Shared: o.ShareAddresses, Admin: o.admin, Order: order}
	if o.Envoy != nil {
		l.Unusable = o.Envoy.Unusable
	}
	if o.Holders != nil {
		l.Holders, l.SoleHosts = o.Holders.claims, o.Holders.hosts
	}
	return l
}
