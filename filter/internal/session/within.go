package session

// backendDigits is the length of a backend tag as the proxy has it: hexadecimal digits in lower case.
const backendDigits = 8

// stayWithin has a request go to a host of the session's backend: a pinned one if its own host does not serve, and one
// whose host is another pod's by now in any case.
func (x *Exchange) stayWithin(h Request, backend uint32) {
	if backend == 0 {
		return
	}
	if x.policy.leads != nil {
		x.lead(h, backend)
		return
	}
	x.kept = true
	const digits = "0123456789abcdef"
	text := x.policy.engine.backend[:]
	for i := range text {
		text[i] = digits[backend>>(28-4*i)&0xf]
	}
	h.Within(stringOf(text))
}

// lacksParts tells whether the session has no id yet, or is of a backend or a pod that its token does not name.
func (x *Exchange) lacksParts(h Reply) bool {
	p, parts := x.policy, &x.session.Parts
	return parts.ID == 0 || x.followed || p.within && parts.Backend == 0 && p.backendOf(h) != 0 ||
		p.judge.Owners != nil && !p.judge.Owners.IsMarked(&x.session)
}

// backendOf is the tag of the backend that answers; 0 for none.
func (p *Policy) backendOf(h Reply) (tag uint32) {
	if p.leads != nil {
		return p.backendOfCluster(h.Cluster())
	}
	text := h.Backend()
	if len(text) != backendDigits {
		return 0
	}
	for i := range backendDigits {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			tag = tag<<4 | uint32(c-'0')
		case 'a' <= c && c <= 'f':
			tag = tag<<4 | uint32(c-'a'+10)
		default:
			return 0
		}
	}
	return tag
}
