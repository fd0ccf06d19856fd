package policyconfig

import "strconv"

// jsonPath is where in a document something is: the way from the root, kept as a list from its end so that
// walking a document costs nothing until a fault is reported. The root is nil.
type jsonPath struct {
	parent *jsonPath
	name   string // a field's name
	index  int    // an item's place in its list, from 0; noItem for a field
}

// noItem is the index of a field. Its name cannot tell, for a document may call a field "".
const noItem = -1

// child is the path of a field of the object at p.
func (p *jsonPath) child(name string) *jsonPath {
	return &jsonPath{parent: p, name: name, index: noItem}
}

// item is the path of the i-th item of the list at p.
func (p *jsonPath) item(i int) *jsonPath { return &jsonPath{parent: p, index: i} }

// String writes the path as Kubernetes does: policies[2].cookie.sameSite.
func (p *jsonPath) String() string {
	if p == nil {
		return ""
	}
	before := p.parent.String()
	switch {
	case p.index != noItem:
		return before + "[" + strconv.Itoa(p.index) + "]"
	case !plainName(p.name):
		return before + "[" + quote(p.name) + "]"
	case before == "":
		return p.name
	}
	return before + "." + p.name
}

// plainName reports whether a field's name can stand in a path as it is. Names that the document made up
// may hold anything, line breaks too.
func plainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && c != '_' && c != '-' && c != '$' {
			return false
		}
	}
	return name != "" && len(name) <= maxQuoted
}
