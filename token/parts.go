package token

import "encoding/binary"

// The labels of the parts' tags. They are hashed without a key: a tag tells equal names from others and hides nothing.
const (
	labelBackend = "limpet.dev/v1 backend\x00"
	labelPod     = "limpet.dev/v1 pod\x00"
	labelName    = "limpet.dev/v1 name\x00"
)

// Parts are what a token may say besides its host and times. What is zero the token does not have.
type Parts struct {
	// ID is the session's own: random, and kept when the session is renewed or moves.
	ID uint64
	// Owner is whose host it was when the session came to it: the tag of the pod ([PodTag]) or, if Named, of its name
	// ([NameTag]).
	Owner uint64
	// Backend is the tag of the backend that the host belongs to ([BackendTag]).
	Backend uint32
	Named   bool
}

// BackendTag is the tag of a backend, for instance "Service/default/cart/8080". It is never zero.
func BackendTag(name string) uint32 { return uint32(wideTag(labelBackend, name)>>32) | 1 }

// PodTag is the tag of a pod by its uid, NameTag that of a pod by its stable name. Neither is ever zero.
func PodTag(uid string) uint64 { return wideTag(labelPod, uid) | 1 }

// NameTag is described at [PodTag].
func NameTag(name string) uint64 { return wideTag(labelName, name) | 1 }

func wideTag(label, name string) uint64 {
	sum := hashFrom(firstChain, 0, []byte(label+name))
	return binary.BigEndian.Uint64(sum[:])
}

// flags are the bits that say which parts there are.
func (p *Parts) flags() (flags byte) {
	if p.ID != 0 {
		flags |= flagID
	}
	if p.Backend != 0 {
		flags |= flagBackend
	}
	if p.Owner != 0 {
		flags |= flagOwner
		if p.Named {
			flags |= flagNamed
		}
	}
	return flags
}

// appendRaw appends the parts as a token holds them.
func (p *Parts) appendRaw(dst []byte) []byte {
	if p.ID != 0 {
		dst = binary.BigEndian.AppendUint64(dst, p.ID)
	}
	if p.Backend != 0 {
		dst = binary.BigEndian.AppendUint32(dst, p.Backend)
	}
	if p.Owner != 0 {
		dst = binary.BigEndian.AppendUint64(dst, p.Owner)
	}
	return dst
}

// partsFromRaw reads what appendRaw wrote. It reports whether each part that the flags name is there, that is not zero:
// what a token does not say it says in one way only.
func partsFromRaw(raw []byte, flags byte) (p Parts, ok bool) {
	if flags&flagID != 0 {
		p.ID, raw = binary.BigEndian.Uint64(raw), raw[idLen:]
	}
	if flags&flagBackend != 0 {
		p.Backend, raw = binary.BigEndian.Uint32(raw), raw[backendLen:]
	}
	if flags&flagOwner != 0 {
		p.Owner = binary.BigEndian.Uint64(raw)
	}
	p.Named = flags&flagNamed != 0
	return p, p.flags() == flags&^flagsHost
}
