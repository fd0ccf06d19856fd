package read

import (
	"strconv"
	"strings"
)

// simpleReader reads the YAML that kubectl and most people write: block mappings and sequences, with plain or quoted text
// without blanks or escapes, small flow collections on one line, comments on lines of their own. It is ten times as
// fast as a parser for all of YAML. At whatever it is not sure about it gives up, and such a parser decides.
type simpleReader struct {
	rest   string // after the line at hand
	number int    // of the line at hand, from 1
	indent int    // its spaces
	text   string // and what follows them; empty at the end
	broken bool   // given up
}

// simpleYAML gives a document's fields, and false where it gives up.
func simpleYAML(data []byte) (map[string]any, bool) {
	s := simpleReader{rest: string(data)}
	fields := s.readDocument(nil)
	return fields, !s.broken
}

// findPlaces finds where a document's fields stand, as mappingKeys.findLine does, and says so where it gives up.
func findPlaces(data []byte) (root *place, failed bool) {
	s := simpleReader{rest: string(data)}
	root = &place{}
	if s.readDocument(root); s.broken {
		return nil, true
	}
	return root, false
}

// giveUp ends the reading. What is returned from then on has no meaning.
func (s *simpleReader) giveUp() any {
	s.broken, s.text, s.rest = true, "", ""
	return nil
}

// readDocument reads the one document, which is a mapping. Like the methods below, it notes where things stand unless at is nil.
func (s *simpleReader) readDocument(at *place) map[string]any {
	s.nextLine()
	if s.text == "---" {
		s.nextLine()
	}
	if at != nil {
		at.line = s.number
	}
	if s.text == "" || s.indent > 0 || s.isItem() {
		s.giveUp()
		return nil
	}
	fields := s.readMapping(0, at)
	if s.text != "" {
		s.giveUp()
	}
	return fields
}

// nextLine goes to the next line with content.
func (s *simpleReader) nextLine() {
	for s.rest != "" {
		var line string
		line, s.rest, _ = strings.Cut(s.rest, "\n")
		s.number++
		line = strings.TrimRight(line, " ")
		s.text = strings.TrimLeft(line, " ")
		s.indent = len(line) - len(s.text)
		if !isASCII(s.text) || strings.Contains(s.text, " #") {
			s.giveUp()
			return
		}
		if s.text != "" && s.text[0] != '#' {
			return
		}
	}
	s.text, s.indent = "", 0
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// isItem tells whether the line at hand begins an item of a sequence.
func (s *simpleReader) isItem() bool { return s.text == "-" || strings.HasPrefix(s.text, "- ") }

// readMapping reads the mapping that begins on the line at hand.
func (s *simpleReader) readMapping(depth int, at *place) map[string]any {
	fields, indent := map[string]any{}, s.indent
	for s.text != "" && s.indent == indent && !s.isItem() {
		key, value, ok := cutKey(s.text)
		if _, twice := fields[key]; !ok || twice || depth > maxDepth/2 {
			s.giveUp()
			break
		}
		below := at.addField(key, s.number)
		if value != "" {
			fields[key] = s.readLineValue(value)
			continue
		}
		s.nextLine()
		switch {
		case s.text != "" && s.indent == indent && s.isItem():
			fields[key] = s.readSequence(depth+1, below)
		case s.indent > indent:
			fields[key] = s.readBlock(depth+1, below)
		default:
			fields[key] = nil
		}
	}
	if s.indent > indent {
		s.giveUp()
	}
	return fields
}

// readBlock reads the collection that begins on the line at hand.
func (s *simpleReader) readBlock(depth int, at *place) any {
	if s.isItem() {
		return s.readSequence(depth, at)
	}
	return s.readMapping(depth, at)
}

// readSequence reads the sequence that begins on the line at hand.
func (s *simpleReader) readSequence(depth int, at *place) []any {
	list, indent := []any{}, s.indent
	for s.text != "" && s.indent == indent && s.isItem() {
		if depth > maxDepth/2 {
			s.giveUp()
			break
		}
		below := at.addItem(s.number)
		value := strings.TrimLeft(s.text[1:], " ")
		_, _, isMapping := cutKey(value)
		if value != "" && value != "-" && !strings.HasPrefix(value, "- ") && !isMapping {
			list = append(list, s.readLineValue(value))
			continue
		}
		s.indent += len(s.text) - len(value)
		s.text = value
		if value == "" { // the item begins on another line, or is null
			s.giveUp()
			break
		}
		list = append(list, s.readBlock(depth+1, below))
	}
	if s.indent > indent {
		s.giveUp()
	}
	return list
}

// cutKey cuts "key: value"; the value is empty where it is on other lines.
func cutKey(text string) (key, value string, ok bool) {
	key, value, found := strings.Cut(text, ":")
	if !found || value != "" && value[0] != ' ' || key == "" || !isLetter(key[0]) {
		return "", "", false
	}
	for i := range len(key) {
		if !isWord(key[i]) {
			return "", "", false
		}
	}
	return key, strings.TrimLeft(value, " "), true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// isWord tells whether a character can stand anywhere but at the beginning of a word, and means nothing to YAML.
func isWord(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '/'
}

// readLineValue reads a value that takes up the rest of the line at hand.
func (s *simpleReader) readLineValue(text string) any {
	value, rest := s.readFlow(text, 0)
	if rest != "" {
		return s.giveUp()
	}
	indent := s.indent
	s.nextLine()
	if s.indent > indent { // text that goes on
		return s.giveUp()
	}
	return value
}

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
