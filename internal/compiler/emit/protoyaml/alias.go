package protoyaml

import (
	"slices"
	"strconv"
)

// longText is the size, in bytes, from which a string that comes in the place of others is written once. Where it comes
// again an alias stands for it: the configuration of a filter that is in many chains may have megabytes. Shorter ones
// are written each time, for people to read in their places.
const longText = 4096

// anchor is where a string was written, and the name that others refer to; empty while none does.
type anchor struct {
	part, at int
	name     string
}

// writeAlias writes the name of a long string that was written before, in the place of the same gap; false for any
// other, which is to be written here.
func (w *writer) writeAlias(placeholder, long string) bool {
	if len(long) < longText {
		return false
	}
	first, again := w.anchors[placeholder]
	if !again {
		w.anchors[placeholder] = &anchor{part: len(w.done), at: len(w.out)}
		return false
	}
	if first.name == "" {
		w.nameAnchor(first)
	}
	w.writeText("*" + first.name + "\n")
	return true
}

// nameAnchor gives a string that was written a name. What comes after it moves.
func (w *writer) nameAnchor(a *anchor) {
	w.names++
	a.name = "text" + strconv.Itoa(w.names)
	mark := "&" + a.name + " "
	part := &w.out
	if a.part < len(w.done) {
		part = &w.done[a.part]
	}
	*part = slices.Insert(*part, a.at, []byte(mark)...)
	for _, other := range w.anchors {
		if other.part == a.part && other.at > a.at {
			other.at += len(mark)
		}
	}
}
