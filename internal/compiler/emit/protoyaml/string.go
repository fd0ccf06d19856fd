package protoyaml

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	library "sigs.k8s.io/yaml"
)

// writeString writes a string and the end of its line; see value.
func (w *writer) writeString(s string, indent int, inList bool) {
	if longer, replaced := w.placeholders.Strings[s]; replaced {
		w.filled++
		if w.writeAlias(s, longer) {
			return
		}
		s = longer
	}
	switch {
	case !utf8.ValidString(s):
		w.fail(errors.New("a string that is not UTF-8"))
	case isPlain(s):
		w.writeText(s)
		w.out = append(w.out, '\n')
	case isLiteral(s):
		w.writeLines(s, indent, inList)
	case strings.ContainsAny(s, blanks):
		w.writeByLibrary(w.quoteJSON(s), indent, inList)
	default:
		w.writeText(w.quoteWord(s))
	}
}

// blanks are the characters at which lines may break, or do.
const blanks = " \n\r\u0085\u2028\u2029"

// quoteWord is the text of a string without blanks, which is the same wherever it stands.
func (w *writer) quoteWord(s string) string {
	if isJSON(s) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'\n"
	}
	if text, known := w.odd[s]; known {
		return text
	}
	text, err := library.JSONToYAML(w.quoteJSON(s))
	if err != nil {
		w.fail(err)
	}
	w.odd[s] = string(text)
	return string(text)
}

// isJSON tells whether a string begins as a list or object of JSON and has nothing in it but visible characters of
// ASCII: quotation marks around it are all that YAML needs.
func isJSON(s string) bool {
	return s != "" && (s[0] == '[' || s[0] == '{') &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// writeKey writes a map's key.
func (w *writer) writeKey(k string) {
	if isPlain(k) {
		w.writeText(k)
		return
	}
	text, err := library.Marshal(map[string]int{k: 0})
	if err != nil {
		w.fail(err)
	}
	w.out = append(w.out, bytes.TrimSuffix(text, []byte(": 0\n"))...)
}

// isKey tells whether a string can be a key of one line.
func isKey(k string) bool {
	return utf8.ValidString(k) && len(k) <= longestKey && !strings.ContainsAny(k, blanks[1:])
}

// longestKey is the length in bytes beyond which YAML needs another form of mapping.
const longestKey = 100

// reservedWords are what YAML 1.1 takes for something else than a string, of all that has letters alone.
var reservedWords = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "true": true, "True": true, "TRUE": true,
	"on": true, "On": true, "ON": true, "n": true, "N": true, "no": true, "No": true, "NO": true,
	"false": true, "False": true, "FALSE": true, "off": true, "Off": true, "OFF": true,
	"null": true, "Null": true, "NULL": true,
}

// isPlain tells whether a string is written as it is: it is a word, a name or a path, or an IPv4 address.
func isPlain(s string) bool {
	if s == "" || reservedWords[s] {
		return false
	}
	if c := s[0]; '0' <= c && c <= '9' {
		return strings.Count(s, ".") == 3 && strings.Trim(s, "0123456789.") == ""
	}
	for i := range len(s) {
		if !isPlainByte(s[i], i == 0) {
			return false
		}
	}
	return true
}

// isPlainByte tells whether a byte may stand in a plain string, or begin it.
func isPlainByte(c byte, first bool) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '/', c == '_':
		return true
	case '0' <= c && c <= '9', c == '-', c == '.':
		return !first
	default:
		return false
	}
}

// isLiteral tells whether a string of several lines can be written as they are: it is of printable ASCII, neither
// begins nor ends with a blank, no line but an empty one does, and the last line has an end.
func isLiteral(s string) bool {
	text, ended := strings.CutSuffix(s, "\n")
	if !ended || text == "" || text[0] == ' ' || text[0] == '\n' || strings.Contains(s, " \n") ||
		text[len(text)-1] == '\n' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// writeLines writes a literal.
func (w *writer) writeLines(s string, indent int, inList bool) {
	w.writeText("|\n")
	if !inList {
		indent += indentStep
	}
	w.out = slices.Grow(w.out, len(s)+strings.Count(s, "\n")*indent)
	for line := range strings.Lines(s) {
		if line != "\n" {
			w.writePad(indent)
		}
		w.writeText(line)
	}
}
