package aliasyaml

import (
	"encoding/json"
	"regexp"
	"strings"
)

// width is how long a line may be before a list or mapping is written on lines of its own.
const width = 116

// renderEntry writes "key: value" at an indent that its first line already has.
func renderEntry(key string, n node, indent int) string {
	prefix := key + ":"
	if n.anchor != "" {
		prefix += " &" + n.anchor
	}
	if flow := renderFlow(n); n.isShort() || indent > 0 && indent+len(prefix)+1+len(flow) <= width {
		return prefix + " " + flow + "\n"
	}
	if n.items != nil {
		return prefix + "\n" + strings.Repeat(" ", indent) + renderBlock(n, indent)
	}
	return prefix + "\n" + strings.Repeat(" ", indent+2) + renderBlock(n, indent+2)
}

// isShort tells whether a value is never on lines of its own.
func (n node) isShort() bool {
	switch {
	case n.items != nil:
		return len(n.items) == 0
	case n.fields != nil:
		return len(n.keys) == 0 && n.merged == ""
	default:
		return true
	}
}

// renderBlock writes a list or mapping on lines of its own, at an indent that the first one already has.
func renderBlock(n node, indent int) string {
	var lines []string
	for _, item := range n.items {
		if flow := renderFlow(item); item.isShort() || indent+2+len(flow) <= width {
			lines = append(lines, "- "+flow+"\n")
		} else {
			lines = append(lines, "- "+renderBlock(item, indent+2))
		}
	}
	if n.merged != "" {
		lines = append(lines, "<<: *"+n.merged+"\n")
	}
	for _, key := range n.keys {
		lines = append(lines, renderEntry(quoteScalar(key), n.fields[key], indent))
	}
	return strings.Join(lines, strings.Repeat(" ", indent))
}

// renderFlow writes a value within a line.
func renderFlow(n node) string {
	var parts []string
	switch {
	case n.alias != "":
		return "*" + n.alias
	case n.items != nil:
		for _, item := range n.items {
			parts = append(parts, renderFlow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.fields == nil:
		return n.scalar
	}
	if n.merged != "" {
		parts = append(parts, "<<: *"+n.merged)
	}
	for _, key := range n.keys {
		parts = append(parts, quoteScalar(key)+": "+renderFlow(n.fields[key]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

var (
	// plain are texts that need no quotes: words, paths, addresses and durations.
	plain = regexp.MustCompile(
		`^(?:[A-Za-z_/][A-Za-z0-9_./+-]*(?::[A-Za-z0-9_./+-]+)*|\d+(?:\.\d+){3}(?::\d+)?|\d+(?:s|m|h|ms))$`,
	)
	// words are texts that look plain and are something else to a parser.
	words = regexp.MustCompile(`(?i)^(?:y|n|yes|no|on|off|true|false|null)$`)
	// quotable are texts that single quotes do for.
	quotable = regexp.MustCompile(`^[ -&(-~]*$`)
)

func quoteScalar(value any) string {
	text, is := value.(string)
	switch {
	case is && plain.MatchString(text) && !words.MatchString(text):
		return text
	case is && quotable.MatchString(text):
		return "'" + text + "'"
	}
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err) // not one of a document's values
	}
	return string(quoted)
}
