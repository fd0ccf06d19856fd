package policyconfig

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep objects and lists may nest. The configuration needs five levels.
const maxDepth = 16

// scanner checks that a text is one JSON value (RFC 8259) in valid UTF-8, without recursion, for gjson takes
// anything and the filter's stack is small. It never quotes the text, which may hold secrets.
type scanner struct {
	text  string
	at    int
	open  [maxDepth]byte // the closing character of each object and list that is open
	depth int
	fault string
}

// checkSyntax gives "" or a message with the fault's line and column, both from 1.
func checkSyntax(text string) string {
	s := scanner{text: text}
	for s.fault == "" {
		if s.value() && !s.more() {
			break
		}
	}
	if s.fault == "" {
		return ""
	}
	line, column := position(text, s.at)
	return "not valid JSON at " + strconv.Itoa(line) + ":" + strconv.Itoa(column) + ": " + s.fault
}

// position turns an offset into a line and a column in characters, both from 1.
func position(text string, offset int) (line, column int) {
	before := text[:offset]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// fail notes the fault at the current place. It is false, for its callers to return.
func (s *scanner) fail(fault string) bool {
	s.fault = fault
	return false
}

// next skips white space and gives the character there, 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// value reads a whole scalar or empty container: true. Or it opens a container and stops before the first
// value in it: false, as for a fault.
func (s *scanner) value() bool {
	switch c := s.next(); c {
	case '{':
		return s.enter('}')
	case '[':
		return s.enter(']')
	case '"':
		return s.quoted()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		if c == '-' || digit(c) {
			return s.number()
		}
		return s.fail("expected a value")
	}
}

// enter opens an object or list; true when it is empty and so closed again.
func (s *scanner) enter(closing byte) bool {
	if s.depth == maxDepth {
		return s.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
	}
	s.at++
	s.open[s.depth] = closing
	s.depth++
	if s.next() == closing {
		s.at++
		s.depth--
		return true
	}
	if closing == '}' {
		s.name()
	}
	return false
}

// name reads a field's name and the colon.
func (s *scanner) name() bool {
	if s.next() != '"' {
		return s.fail("expected a field's name in double quotes")
	}
	if !s.quoted() {
		return false
	}
	if s.next() != ':' {
		return s.fail("expected a colon")
	}
	s.at++
	return true
}

// more reads what follows a whole value; true when that is another one.
func (s *scanner) more() bool {
	for s.depth > 0 {
		closing := s.open[s.depth-1]
		switch s.next() {
		case closing:
			s.at++
			s.depth--
		case ',':
			s.at++
			return closing == ']' || s.name()
		default:
			return s.fail("expected a comma or " + string(rune(closing)))
		}
	}
	if s.next(); s.at < len(s.text) {
		return s.fail("expected nothing more")
	}
	return false
}

func (s *scanner) word(w string) bool {
	if !strings.HasPrefix(s.text[s.at:], w) {
		return s.fail("expected a value")
	}
	s.at += len(w)
	return true
}

// number reads -? int frac? exp?; what follows it is the caller's to judge.
func (s *scanner) number() bool {
	s.skip('-')
	if !s.skip('0') && !s.digits() {
		return s.fail("expected a digit")
	}
	if s.skip('.') && !s.digits() {
		return s.fail("expected a digit")
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('+') {
			s.skip('-')
		}
		if !s.digits() {
			return s.fail("expected a digit")
		}
	}
	return true
}

// skip reads the character c if it is there.
func (s *scanner) skip(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// digits reads one digit or more.
func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.text) && digit(s.text[s.at]) {
		s.at++
	}
	return s.at > start
}

// quoted reads a string.
func (s *scanner) quoted() bool {
	for s.at++; s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return true
		case c == '\\':
			if !s.escape() {
				return false
			}
		case c < ' ':
			return s.fail("control character in a string")
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, size := utf8.DecodeRuneInString(s.text[s.at:])
			if r == utf8.RuneError && size == 1 {
				return s.fail("not valid UTF-8")
			}
			s.at += size
		}
	}
	return s.fail("a string without an end")
}

// escape reads a backslash and what belongs to it. Halves of surrogate pairs are refused, for they mean nothing alone.
func (s *scanner) escape() bool {
	rest := s.text[s.at+1:]
	if rest != "" && strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0 {
		s.at += 2
		return true
	}
	high, ok := hex4(rest)
	if !ok {
		return s.fail("unknown escape in a string")
	}
	size := 6
	if high >= 0xDC00 && high <= 0xDFFF {
		return s.fail("half of a surrogate pair")
	}
	if high >= 0xD800 && high <= 0xDBFF {
		low, ok := uint16(0), strings.HasPrefix(rest[5:], `\`)
		if ok {
			low, ok = hex4(rest[6:])
		}
		if !ok || low < 0xDC00 || low > 0xDFFF {
			return s.fail("half of a surrogate pair")
		}
		size = 12
	}
	s.at += size
	return true
}

// hex4 reads the u and the four digits of an escape.
func hex4(text string) (code uint16, ok bool) {
	if len(text) < 5 || text[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[1:5], 16, 16)
	return uint16(n), err == nil
}
