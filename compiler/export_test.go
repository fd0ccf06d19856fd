package compiler

// Replace is Apply for all sources at once, in their order.
func (f *Follower) Replace(sources []Source, c Changes) (*Update, error) {
	var names []string
	gone := map[string]bool{}
	for name := range f.state.Store().Names() {
		gone[name] = true
	}
	for _, s := range sources {
		names = append(names, s.Name)
		delete(gone, s.Name)
	}
	for name := range gone {
		c.Removed = append(c.Removed, name)
	}
	c.Set, c.Files = sources, func() []string { return names }
	return f.Apply(c)
}
