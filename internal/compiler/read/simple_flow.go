package read

import (
	"strconv"
	"strings"
)

// readFlow reads a value at the beginning of a text, and gives what is left of it.
func (s *simpleReader) readFlow(text string, depth int) (value any, rest string) {
	switch {
	case text == "" || depth > maxDepth/2:
		return s.giveUp(), ""
	case text[0] == '[':
		return s.readFlowSequence(text[1:], depth)
	case text[0] == '{':
		return s.readFlowMapping(text[1:], depth)
	case text[0] == '"' || text[0] == '\'':
		quoted, rest, closed := strings.Cut(text[1:], text[:1])
		if !closed || strings.Contains(quoted, "\\") || strings.HasPrefix(rest, text[:1]) {
			return s.giveUp(), ""
		}
		return quoted, rest
	}
	end := 0
	for end < len(text) && (isWord(text[end]) || depth == 0 && text[end] == ':') {
		end++
	}
	value, ok := parsePlain(text[:end])
	if !ok {
		return s.giveUp(), ""
	}
	return value, text[end:]
}

// readFlowSequence reads what follows a bracket.
func (s *simpleReader) readFlowSequence(text string, depth int) (list []any, rest string) {
	list = []any{}
	text = strings.TrimLeft(text, " ")
	if rest, empty := strings.CutPrefix(text, "]"); empty {
		return list, rest
	}
	for !s.broken {
		value, rest := s.readFlow(text, depth+1)
		list = append(list, value)
		var more bool
		if text, more = s.readComma(rest, "]"); !more {
			break
		}
	}
	return list, text
}

// readFlowMapping reads what follows a brace.
func (s *simpleReader) readFlowMapping(text string, depth int) (fields map[string]any, rest string) {
	fields = map[string]any{}
	text = strings.TrimLeft(text, " ")
	if rest, empty := strings.CutPrefix(text, "}"); empty {
		return fields, rest
	}
	for !s.broken {
		key, value, ok := cutKey(text)
		if _, twice := fields[key]; !ok || twice {
			s.giveUp()
			break
		}
		fields[key], value = s.readFlow(value, depth+1)
		var more bool
		if text, more = s.readComma(value, "}"); !more {
			break
		}
	}
	return fields, text
}

// readComma reads what stands between two values or after the last one.
func (s *simpleReader) readComma(text, end string) (rest string, more bool) {
	text = strings.TrimLeft(text, " ")
	if rest, is := strings.CutPrefix(text, ","); is {
		return strings.TrimLeft(rest, " "), true
	}
	rest, is := strings.CutPrefix(text, end)
	if !is {
		s.giveUp()
	}
	return rest, false
}

// parsePlain gives what a plain text means, where that is beyond doubt: a word that is no other way to write true,
// false or null, a small whole number, an IPv4 address, a duration such as 1h30m.
func parsePlain(text string) (value any, sure bool) {
	switch {
	case text == "" || text[len(text)-1] == ':':
		return nil, false
	case isLetter(text[0]) || text[0] == '/':
		return parseWord(text)
	case !isDigit(text[0]):
		return nil, false
	case strings.Trim(text, "0123456789") == "":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil && (text[0] != '0' || text == "0")
	case strings.Trim(text, "0123456789.") == "":
		return text, strings.Count(text, ".") > 1
	default:
		return text, strings.Trim(text, "0123456789hms") == ""
	}
}

// parseWord gives the meaning of a text that begins with a letter or a slash.
func parseWord(text string) (value any, sure bool) {
	if _, is := oldBooleans[text]; is {
		return nil, false
	}
	switch strings.ToLower(text) {
	case "true", "false":
		return text == "true", text == "true" || text == "false"
	case "null":
		return nil, text == "null"
	}
	return text, true
}
