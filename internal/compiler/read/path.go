package read

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keySegment is a key as a part of a path: [key] where it has characters that paths use, else .key.
func keySegment(key string) string {
	if key == "" || strings.ContainsAny(key, ".[]") {
		return "[" + key + "]"
	}
	return "." + key
}

// splitPath splits a path such as spec.rules[0].labels[a.b/c] into its names and indices.
func splitPath(path string) []string {
	var out []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
			continue
		case '[':
			inside, rest, _ := strings.Cut(path[1:], "]")
			out, path = append(out, inside), rest
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		out, path = append(out, path[:end]), path[end:]
	}
	return out
}

// findLine walks a node tree along a path as far as it leads and gives the line of the last thing found:
// of a field its key, of a list's item its beginning.
func findLine(n *yaml.Node, path []string) int {
	line := n.Line
	for _, step := range path {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		next, at := findChild(n, step)
		if next == nil {
			break
		}
		n, line = next, at
	}
	return line
}

// findChild finds one step below a node, and the line to show for it.
func findChild(n *yaml.Node, step string) (*yaml.Node, int) {
	switch n.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i].Line
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1], n.Content[i].Line
			}
		}
	}
	return nil, 0
}
