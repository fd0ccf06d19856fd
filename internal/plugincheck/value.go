package plugincheck

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a place in a document, and what stands there. Its node is nil where there is nothing; line and path are then
// those of what encloses it.
type value struct {
	node *yaml.Node
	file *File
	path string
	line int
}

func (v value) missing() bool { return v.node == nil }

// get returns a field of a mapping, by its name in .proto files or in proto3's JSON.
func (v value) get(name string) value {
	field := value{file: v.file, path: join(v.path, name), line: v.line}
	if v.node == nil || v.node.Kind != yaml.MappingNode {
		return field
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		if key := v.node.Content[i]; key.Value == name || key.Value == camel(name) {
			field.node, field.line = resolve(v.node.Content[i+1]), key.Line
			return field
		}
	}
	return field
}

// camel is a field's name in proto3's JSON.
func camel(name string) string {
	var b strings.Builder
	for i, part := range strings.Split(name, "_") {
		if i > 0 && part != "" {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	return b.String()
}

func join(path, name string) string {
	switch {
	case path == "":
		return name
	case strings.Contains(name, "."):
		return path + "[" + strconv.Quote(name) + "]"
	}
	return path + "." + name
}

func resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// items are those of a list.
func (v value) items() []value {
	if v.node == nil || v.node.Kind != yaml.SequenceNode {
		return nil
	}
	var list []value
	for i, n := range v.node.Content {
		list = append(list, value{resolve(n), v.file, v.path + "[" + strconv.Itoa(i) + "]", n.Line})
	}
	return list
}

// fields are those of a mapping, with their names.
func (v value) fields() (names []string, values []value) {
	if v.node == nil || v.node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		names = append(names, key.Value)
		values = append(values, value{resolve(v.node.Content[i+1]), v.file, join(v.path, key.Value), key.Line})
	}
	return names, values
}

// findPath returns the value at a path from the document's root or, without one, the closest value that encloses it.
func (v value) findPath(path string) value {
	_, fields := v.fields()
	for _, child := range append(fields, v.items()...) {
		if rest, below := strings.CutPrefix(path, child.path); below && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return child.findPath(path)
		}
	}
	return v
}

// text is the text of a scalar, empty for anything else.
func (v value) text() string {
	if v.node == nil || v.node.Kind != yaml.ScalarNode {
		return ""
	}
	return v.node.Value
}

func (v value) isTrue() bool { return v.text() == "true" }

// isText tells whether there is a string.
func (v value) isText() bool {
	return v.node != nil && v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!str"
}

// texts are the texts of a list's items.
func (v value) texts() []string {
	var list []string
	for _, item := range v.items() {
		list = append(list, item.text())
	}
	return list
}

// typeName is the last word of a message's type, such as Wasm.
func (v value) typeName() string { return lastWord(v.get("@type").text()) }

func lastWord(typeName string) string { return typeName[strings.LastIndexByte(typeName, '.')+1:] }

// message is what a typed_config holds, with the last word of its type, which a TypedStruct has in type_url.
func (v value) message() (content value, kind string) {
	kind = v.typeName()
	if kind != "TypedStruct" {
		return v, kind
	}
	return v.get("value"), lastWord(v.get("type_url").text())
}

// walk visits a value's mappings, outer ones before inner ones.
func (v value) walk(visit func(value)) {
	if v.node == nil {
		return
	}
	switch v.node.Kind {
	case yaml.MappingNode:
		visit(v)
		_, values := v.fields()
		for _, field := range values {
			field.walk(visit)
		}
	case yaml.SequenceNode:
		for _, item := range v.items() {
			item.walk(visit)
		}
	}
}

// flat is the value on one line.
func (v value) flat() string {
	if names, values := v.fields(); names != nil {
		var parts []string
		for i, name := range names {
			parts = append(parts, name+": "+values[i].flat())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if items := v.items(); items != nil {
		var parts []string
		for _, item := range items {
			parts = append(parts, item.flat())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return v.text()
}
