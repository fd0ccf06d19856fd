package precedence

// displaceAtomic takes out the blocks that others displace as a whole, by the strategies of GEP-713: atomic overrides
// take the place of all that stands below them, and atomic defaults hold only where nothing does. Between two blocks
// the higher one's strategy decides. The entries are in order, strongest first, and at least one stays.
func displaceAtomic(entries []*blockEntry) (left []*blockEntry, displaced []IgnoredField) {
	for i, e := range entries {
		if by := findDisplacer(entries, i); by != nil {
			displaced = append(displaced, newDisplaced(e, by))
			continue
		}
		left = append(left, e)
	}
	return left, displaced
}

// findDisplacer gives the block that takes the place of one, or nil.
func findDisplacer(entries []*blockEntry, of int) *blockEntry {
	e := entries[of]
	for i, other := range entries {
		if i != of && other.Atomic && other.Level.IsOverride() && isBelow(e, other, of > i) {
			return other
		}
	}
	if !e.Atomic || e.Level.IsOverride() {
		return nil
	}
	for i, other := range entries {
		if i != of && isBelow(other, e, i < of) && findDisplacer(entries, i) == nil {
			return other
		}
	}
	return nil
}

// isBelow reports whether a block stands below another in the hierarchy; on one target the tie decides.
func isBelow(e, other *blockEntry, tie bool) bool {
	own, others := e.Level.hierarchy(), other.Level.hierarchy()
	return own > others || own == others && tie
}
