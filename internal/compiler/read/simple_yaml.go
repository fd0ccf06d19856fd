package read

import (
	"strings"
)

// simpleReader reads the YAML that kubectl and most people write: block mappings and sequences, with plain or quoted
// text without blanks or escapes, small flow collections on one line, comments on lines of their own. It is ten times
// as fast as a parser for all of YAML. It gives up where it is not sure, and such a parser decides.
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

// readDocument reads the one document, which is a mapping. Like the methods below, it notes where things stand unless
// at is nil.
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
