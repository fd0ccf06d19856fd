package ir

import (
	"cmp"
	"net/netip"
	"strings"
)

// HostKey names an address for what is remembered of it. Each namespace has its own memory: what the slices of one say
// of an address is no word about another's.
type HostKey struct {
	Namespace string
	Address   netip.AddrPort
}

// Compare gives them an order.
func (k HostKey) Compare(other HostKey) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), k.Address.Compare(other.Address))
}

func (k HostKey) String() string { return k.Namespace + "/" + k.Address.String() }

// MarshalText is for the keys of JSON.
func (k HostKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes, and the address alone, as files before this had it, which is no host of
// any namespace.
func (k *HostKey) UnmarshalText(text []byte) error {
	namespace, address, found := strings.Cut(string(text), "/")
	if !found {
		namespace, address = "", namespace
	}
	k.Namespace = namespace
	return k.Address.UnmarshalText([]byte(address))
}

// Pod is who has an address.
type Pod struct {
	// Namespace is that of the Service.
	Namespace string
	// UID and Object are the object's and its name, and Name is its stable name among those of its Service; empty for what
	// is not known.
	UID, Object, Name string
}

// PodAt is a pod, by its uid, at an address.
type PodAt struct {
	HostKey
	UID string
}

// Compare gives them an order.
func (p PodAt) Compare(other PodAt) int {
	return cmp.Or(p.HostKey.Compare(other.HostKey), cmp.Compare(p.UID, other.UID))
}

// HostOwner is what is remembered of an address by who follows endpoints.
type HostOwner struct {
	// UID is that of the pod that has it, or had it last.
	UID string
	// Reused says that another pod had it before; Live, that proxies know that, so that it may be an endpoint again.
	Reused, Live bool
}
