package read

import (
	"strconv"
	"strings"
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

// itemIndex reads a step as the index of an item of so many.
func itemIndex(step string, length int) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && i >= 0 && i < length
}

// ValueAt gives what a path leads to in an object; nil for nothing.
func ValueAt(object map[string]any, path string) any {
	var at any = object
	for _, step := range splitPath(path) {
		switch in := at.(type) {
		case map[string]any:
			at = in[step]
		case []any:
			i, there := itemIndex(step, len(in))
			if !there {
				return nil
			}
			at = in[i]
		default:
			return nil
		}
	}
	return at
}
