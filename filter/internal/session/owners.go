package session

import (
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// owners say whose hosts are, as far as a policy has it: of addresses that were another pod's before, and of pods with stable
// names. Nil for none of both.
type owners struct {
	byHost map[token.Host]*owner
	byName map[uint64]*owner
}

// owner is whose a host is: the tags of its pod and of that pod's name, 0 for what is not known.
type owner struct {
	host      token.Host
	pod, name uint64
	// pin is the host as the proxy's Request.Pin takes it.
	pin []byte
}

// newOwners reads what validation has read before.
func newOwners(list []string, appendPin func(dst, host []byte) []byte) *owners {
	if len(list) == 0 {
		return nil
	}
	o := &owners{byHost: make(map[token.Host]*owner, len(list)), byName: map[uint64]*owner{}}
	for _, text := range list {
		item, err := policyconfig.ParseOwner(text)
		if err != nil {
			continue
		}
		// No token names a host that is none to the package.
		host, err := token.ParseHost(item.Host)
		if err != nil {
			continue
		}
		known := o.byHost[host]
		if known == nil {
			known = &owner{host: host, pin: appendPin(nil, []byte(item.Host))}
			o.byHost[host] = known
		}
		if item.Named {
			known.name = item.Tag
			o.byName[item.Tag] = known
		} else {
			known.pod = item.Tag
		}
	}
	return o
}

// judge tells whether a session may go on, by whose host it came to. Where its pod is now at another address, that is to.
func (o *owners) judge(sess *token.Session) (to *owner, ok bool) {
	at := o.byHost[sess.Host]
	if sess.Parts.Named {
		if now := o.byName[sess.Parts.Owner]; now != nil {
			return now, true
		}
		return nil, at == nil // or else the address is another's
	}
	// A host that is not listed has had one owner only, as far as is known: a token may know more.
	return nil, at == nil || at.pod == 0 || at.pod == sess.Parts.Owner
}

// mark puts the owner of the session's host into what its token says.
func (o *owners) mark(sess *token.Session) {
	parts := &sess.Parts
	parts.Owner, parts.Named = 0, false
	if at := o.byHost[sess.Host]; at != nil && at.name != 0 {
		parts.Owner, parts.Named = at.name, true
	} else if at != nil {
		parts.Owner = at.pod
	}
}

// isMarked tells whether the session's token says all that is known of its host's owner.
func (o *owners) isMarked(sess *token.Session) bool {
	at := o.byHost[sess.Host]
	return at == nil || at.name == 0 || sess.Parts.Named && sess.Parts.Owner == at.name
}
