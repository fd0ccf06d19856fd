package memo

// Step is what is kept of a step, for those who look after all of them.
type Step interface {
	// Name names the step.
	Name() string
	// Len is the number of results that are kept.
	Len() int
	// Asked reports whether any of them was asked for since the last Sweep.
	Asked() bool
	// Sweep forgets those that were not, so that no more is kept than one compilation needs.
	Sweep()
}

// Sweep ends a compilation for some steps. One that failed may not have come to all of them: those that it did not come
// to keep what they have, for the next one.
func Sweep(steps []Step, complete bool) {
	for _, s := range steps {
		if complete || s.Asked() {
			s.Sweep()
		}
	}
}
