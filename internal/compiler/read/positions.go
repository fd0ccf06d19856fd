package read

import "go.yaml.in/yaml/v3"

// positions are where the fields of a chunk are. The text is read once for all of them, when the first is asked for.
type positions struct {
	first  int    // the line on which the content begins; 0 if it is not known yet
	simple *place // what the simple reader finds
	failed bool   // it gives up
	keys   mappingKeys
}

// findLine gives the line of a field from the beginning of the chunk, or of the nearest thing that encloses it.
func (p *positions) findLine(c *chunk, path string) int {
	if path == "" && !c.json {
		if p.first == 0 {
			p.first = firstContentLine(c.data)
		}
		return p.first
	}
	if p.simple == nil && !p.failed && !c.json {
		p.simple, p.failed = findPlaces(c.data)
	}
	if p.simple != nil {
		return p.simple.findLine(splitPath(path))
	}
	if !p.parse(c) {
		return 1
	}
	return p.keys.findLine(c.root, splitPath(path))
}

// findText gives the text of a value that is no text itself, as it is written: 0x10, yes; empty where a path leads to
// none.
func (p *positions) findText(c *chunk, path string) string {
	if !p.parse(c) {
		return ""
	}
	n := c.root
	for _, step := range splitPath(path) {
		if n, _ = p.keys.findChild(resolve(n), step); n == nil {
			return ""
		}
	}
	if n = resolve(n); n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// parse has the node tree of a chunk, and says whether there is one.
func (p *positions) parse(c *chunk) bool {
	if c.root == nil {
		roots, broken := c.parse()
		if broken != nil || len(roots) != 1 {
			return false
		}
		c.root = roots[0]
	}
	if p.keys == nil {
		p.keys = mappingKeys{}
	}
	return true
}

// place is where a value stands, and what is in it: the fields of a mapping or the items of a sequence.
type place struct {
	line   int
	fields map[string]*place
	items  []*place
}

// addField adds the place of a field, unless places are not asked for.
func (p *place) addField(name string, line int) *place {
	if p == nil {
		return nil
	}
	if p.fields == nil {
		p.fields = map[string]*place{}
	}
	at := &place{line: line}
	p.fields[name] = at
	return at
}

// addItem is addField for the next item of a sequence.
func (p *place) addItem(line int) *place {
	if p == nil {
		return nil
	}
	at := &place{line: line}
	p.items = append(p.items, at)
	return at
}

// findLine follows a path as far as it leads.
func (p *place) findLine(path []string) int {
	for _, step := range path {
		next := p.fields[step]
		if i, is := itemIndex(step, len(p.items)); is {
			next = p.items[i]
		}
		if next == nil {
			break
		}
		p = next
	}
	return p.line
}

// mappingKeys has for each mapping that was looked into where its keys are among its content.
type mappingKeys map[*yaml.Node]map[string]int

// findLine walks a node tree along a path as far as it leads and gives the line of the last thing found:
// of a field its key, of a list's item its beginning.
func (k mappingKeys) findLine(n *yaml.Node, path []string) int {
	line := n.Line
	for _, step := range path {
		next, at := k.findChild(resolve(n), step)
		if next == nil {
			break
		}
		n, line = next, at
	}
	return line
}

// resolve gives what an alias stands for, and any other node as it is.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// findChild finds one step below a node, and the line to show for it.
func (k mappingKeys) findChild(n *yaml.Node, step string) (*yaml.Node, int) {
	switch n.Kind {
	case yaml.SequenceNode:
		if i, is := itemIndex(step, len(n.Content)); is {
			return n.Content[i], n.Content[i].Line
		}
	case yaml.MappingNode:
		if i, has := k.index(n)[step]; has {
			return n.Content[i+1], n.Content[i].Line
		}
	}
	return nil, 0
}

// index gives where a mapping's keys are; of two that are alike the first.
func (k mappingKeys) index(n *yaml.Node) map[string]int {
	keys := k[n]
	if keys == nil {
		keys = make(map[string]int, len(n.Content)/2)
		for i := len(n.Content) - len(n.Content)%2 - 2; i >= 0; i -= 2 {
			keys[n.Content[i].Value] = i
		}
		k[n] = keys
	}
	return keys
}
