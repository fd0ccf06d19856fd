package token

// Owners say whose hosts are: of addresses that were another pod's before, and of pods with stable names. The zero
// value knows of none.
type Owners struct {
	byHost map[Host]*owner
	byName map[uint64]*owner
}

// owner is whose a host is: the tags of its pod and of that pod's name, 0 for what is not known.
type owner struct {
	host      Host
	pod, name uint64
}

// Add says whose a host is, by the tag of its pod or, if named, of the pod's stable name. A host may have both.
func (o *Owners) Add(host Host, tag uint64, named bool) {
	if o.byHost == nil {
		o.byHost, o.byName = map[Host]*owner{}, map[uint64]*owner{}
	}
	known := o.byHost[host]
	if known == nil {
		known = &owner{host: host}
		o.byHost[host] = known
	}
	if named {
		known.name = tag
		o.byName[tag] = known
	} else {
		known.pod = tag
	}
}

// follow tells whether a session may go on, by whose host it came to, and where: its pod may be at another address now.
func (o *Owners) follow(sess *Session) (Host, bool) {
	at := o.byHost[sess.Host]
	if sess.Parts.Named {
		if now := o.byName[sess.Parts.Owner]; now != nil {
			return now.host, true
		}
		return sess.Host, at == nil // or else the address is another's
	}
	// A host that is not listed has had one owner only, as far as is known: a token may know more.
	return sess.Host, at == nil || at.pod == 0 || at.pod == sess.Parts.Owner
}

// Mark puts the owner of the session's host into what its token says.
func (o *Owners) Mark(sess *Session) {
	parts := &sess.Parts
	parts.Owner, parts.Named = 0, false
	if at := o.byHost[sess.Host]; at != nil && at.name != 0 {
		parts.Owner, parts.Named = at.name, true
	} else if at != nil {
		parts.Owner = at.pod
	}
}

// IsMarked tells whether the session's token says all that is known of its host's owner.
func (o *Owners) IsMarked(sess *Session) bool {
	at := o.byHost[sess.Host]
	return at == nil || at.name == 0 || sess.Parts.Named && sess.Parts.Owner == at.name
}
