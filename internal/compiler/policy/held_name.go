package policy

// HeldName is a session's name as it was claimed and as it was emitted in the last result.
type HeldName struct {
	Written, Emitted string
	// Shares marks the scope that a rule has by itself: the rule shared the sessions of its route.
	Shares bool
}

// HeldNames has the held names by the sessions' scopes.
type HeldNames map[string]HeldName

// HeldNames returns the names of the sessions that are on.
func (d *Decisions) HeldNames() HeldNames {
	held := HeldNames{}
	for _, p := range d.Paths {
		if p.Name != "" && p.Withheld == "" {
			held[p.Scope] = p.held
			if p.ofRoute {
				held[RuleIdentity(p.Route, p.Rule).Scope()] = HeldName{Shares: true}
			}
		}
	}
	return held
}

// findHeld returns the name to remember: as it was claimed before its last suffix, and as it was emitted.
func (s *configuredSession) findHeld() HeldName {
	if s.assigned.text != s.assigned.shared {
		return HeldName{Written: s.assigned.shared, Emitted: s.assigned.text}
	}
	return HeldName{Written: s.name, Emitted: s.assigned.text}
}
