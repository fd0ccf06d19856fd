package ir

import (
	"cmp"
	"net/netip"
)

// Pod is who has an address.
type Pod struct {
	// UID is the object's, and Name is its stable name among those of its Service; empty for what is not known.
	UID, Name string
}

// PodAt is a pod, by its uid, at an address.
type PodAt struct {
	Address netip.AddrPort
	UID     string
}

// Compare gives them an order.
func (p PodAt) Compare(other PodAt) int {
	return cmp.Or(p.Address.Compare(other.Address), cmp.Compare(p.UID, other.UID))
}

// HostOwner is what is remembered of an address by who follows endpoints.
type HostOwner struct {
	// UID is that of the pod that has it, or had it last.
	UID string
	// Reused says that another pod had it before; Live, that proxies know that, so that it may be an endpoint again.
	Reused, Live bool
}
