package read

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxDepth = 100     // levels of nesting; the deepest of the supported kinds has 15
	maxAlias = 100_000 // values that the aliases of one file may expand to
	tooDeep  = "nested deeper than 100 levels"
)

// nodeConverter turns a node tree into JSON's values, with the rules that kubectl's YAML reader has.
type nodeConverter struct {
	path    []string // segments of the path to the value at hand, such as ".spec", "[0]"
	aliases *int     // how many values aliases have made so far in the file
	inAlias int
	faults  []fault
	stopped bool // after a fault that makes the rest meaningless
}

func (b *nodeConverter) addFault(n *yaml.Node, message string) {
	b.faults = append(b.faults, fault{n.Line, strings.TrimPrefix(strings.Join(b.path, ""), "."), message})
}

// stop notes a fault after which nothing else is looked at.
func (b *nodeConverter) stop(n *yaml.Node, message string) any {
	if !b.stopped {
		b.stopped = true
		b.addFault(n, message)
	}
	return nil
}

func (b *nodeConverter) convert(n *yaml.Node) any {
	switch {
	case b.stopped:
		return nil
	case len(b.path) > maxDepth:
		return b.stop(n, tooDeep)
	case b.inAlias > 0:
		if *b.aliases++; *b.aliases > maxAlias {
			return b.stop(n, "the file's aliases expand to more than 100000 values")
		}
	}
	switch n.Kind {
	case yaml.AliasNode:
		b.inAlias++
		v := b.convert(n.Alias)
		b.inAlias--
		return v
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		b.convertMapping(m, n)
		return m
	case yaml.SequenceNode:
		return b.convertSequence(n)
	default:
		return b.convertScalar(n)
	}
}

// withSegment runs f with one more segment of the path.
func (b *nodeConverter) withSegment(segment string, f func() any) any {
	b.path = append(b.path, segment)
	v := f()
	b.path = b.path[:len(b.path)-1]
	return v
}

func (b *nodeConverter) convertSequence(n *yaml.Node) any {
	list := make([]any, len(n.Content))
	for i, item := range n.Content {
		list[i] = b.withSegment("["+strconv.Itoa(i)+"]", func() any { return b.convert(item) })
	}
	return list
}

// convertMapping fills m. Merged keys (<<) come last, for a key that is written out wins.
func (b *nodeConverter) convertMapping(m map[string]any, n *yaml.Node) {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content) && !b.stopped; i += 2 {
		key, item := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, item)
			continue
		}
		name, ok := b.readKey(key)
		if !ok {
			continue
		}
		b.withSegment(keySegment(name), func() any {
			if _, twice := m[name]; twice {
				b.addFault(key, "Duplicate value: "+strconv.Quote(name)+": the key is there twice"+b.hintSeparator(key))
			}
			m[name] = b.convert(item)
			return nil
		})
	}
	for _, item := range merged {
		b.mergeKeys(m, item)
	}
}

// hintSeparator is for a key that begins an object for the second time in one document of YAML, such as two files have
// that are joined.
func (b *nodeConverter) hintSeparator(key *yaml.Node) string {
	if len(b.path) == 1 && key.Value == "apiVersion" && key.Style&yaml.DoubleQuotedStyle == 0 {
		return "; if another object begins here, write a line --- before it"
	}
	return ""
}

// readKey gives a mapping's key; numbers and booleans are taken as they are written.
func (b *nodeConverter) readKey(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		message := "a key must be a string"
		if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 {
			message += templateHint // {{ .Name }} is a mapping with a mapping for a key
		}
		b.addFault(n, message)
		return "", false
	}
	return n.Value, true
}

// mergeKeys adds the keys of a "<<" value that m lacks.
func (b *nodeConverter) mergeKeys(m map[string]any, n *yaml.Node) {
	b.inAlias++ // merged values count as an alias's, whichever way they are written
	defer func() { b.inAlias-- }()
	v := b.withSegment(".<<", func() any { return b.convert(n) })
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, v := range list {
		from, ok := v.(map[string]any)
		if !ok && !b.stopped {
			b.addFault(n, "a merge key (<<) takes a mapping or a list of mappings")
		}
		for name, item := range from {
			if _, there := m[name]; !there {
				m[name] = item
			}
		}
	}
}

// oldBooleans are true and false to YAML 1.1, hence to kubectl.
var oldBooleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

func (b *nodeConverter) convertScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!str":
		if old, is := oldBooleans[n.Value]; is && n.Style == 0 {
			return old
		}
		return n.Value
	case "!!timestamp":
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		return b.convertNumber(n)
	default:
		b.addFault(n, "the YAML tag "+n.ShortTag()+" has no meaning here")
		return nil
	}
}

// convertNumber gives an int64 where it can, else a float64; JSON has no others.
func (b *nodeConverter) convertNumber(n *yaml.Node) any {
	text := strings.ReplaceAll(n.Value, "_", "")
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		b.addFault(n, "not a number that JSON has: "+strconv.Quote(n.Value))
		return nil
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}
