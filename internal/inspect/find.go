package inspect

import (
	"strings"

	"github.com/limpet-proxy/limpet/token"
)

// Kind is what a piece of a text is by its form.
type Kind string

// The kinds. A Value has none of the forms and stands where a session's token belongs.
const (
	Token    Kind = "token"
	Envelope Kind = "envelope"
	Ticket   Kind = "ticket"
	Value    Kind = "value"
)

// Place is where a piece stands first, in lines and bytes from 1 on, and how often it is there.
type Place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Times  int `json:"times"`
}

// piece is what a text has of limpet's. Its text is shown to nobody.
type piece struct {
	Place
	kind Kind
	text string
	name string // under which a Value stands
}

// finder goes through a text once.
type finder struct {
	text  string
	names map[string]bool // of sessions' cookies and, in lower case, headers
	found []*piece
	seen  map[string]*piece
	// line is that of the byte which was looked at last, and begins is where it does.
	line, begins, read int
}

// findPieces gives the pieces of a text in their order, each once.
func findPieces(text string, names map[string]bool) []*piece {
	f := &finder{text: text, names: names, seen: map[string]*piece{}, line: 1}
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case isWord(c):
			at = f.word(at)
		case c == '=' || c == ':':
			at = f.value(at)
		default:
			at++
		}
	}
	return f.found
}

// word takes the word that begins at a place, and gives where it ends, or its envelope.
func (f *finder) word(at int) int {
	end := at + wordLen(f.text[at:])
	for _, begin := range []int{at, at + f.escape(at)} {
		switch tok := f.text[begin:end]; {
		case token.Plausible(tok):
			if end < len(f.text) && f.text[end] == '.' {
				all := f.text[begin : end+1+wordLen(f.text[end+1:])]
				if _, _, ok := token.CutEnvelope(all); ok {
					f.add(begin, &piece{kind: Envelope, text: all})
					return begin + len(all)
				}
			}
			f.add(begin, &piece{kind: Token, text: tok})
			return end
		case len(tok) == token.TicketLen:
			if _, ok := token.PeekTicket(tok); ok {
				f.add(begin, &piece{kind: Ticket, text: tok})
				return end
			}
		}
	}
	return end
}

// escape is how many of a word's first characters are the rest of an escape, if they are: JSON and URLs write "=" and
// line breaks so.
func (f *finder) escape(at int) int {
	const hex = 2
	switch {
	case at == 0:
		return 0
	case f.text[at-1] == '%' && wordLen(f.text[at:]) > hex:
		return hex
	case f.text[at-1] != '\\':
		return 0
	case f.text[at] == 'u' && wordLen(f.text[at:]) > len("u003d"):
		return len("u003d")
	case strings.IndexByte("nrtbf", f.text[at]) >= 0:
		return 1
	}
	return 0
}

// value takes what stands behind a session's name and this sign, if it has no form; else it leaves it to others.
func (f *finder) value(at int) int {
	name := f.text[:at]
	name = name[lastOutside(name, isNameChar)+1:]
	if f.text[at] == ':' {
		name = strings.ToLower(name)
	}
	if !f.names[name] {
		return at + 1
	}
	begin := at + 1
	for begin < len(f.text) && (f.text[begin] == ' ' || f.text[begin] == '"') {
		begin++
	}
	end := begin
	for end < len(f.text) && f.text[end] > ' ' && strings.IndexByte(`;,"'\`, f.text[end]) < 0 {
		end++
	}
	if value := f.text[begin:end]; value != "" && !hasForm(value) {
		f.add(begin, &piece{kind: Value, text: value, name: name})
		return end
	}
	return begin
}

// hasForm tells whether a value is a token or an envelope by its form.
func hasForm(value string) bool {
	_, _, envelope := token.CutEnvelope(value)
	return envelope || token.Plausible(value)
}

// add notes a piece, or that it is there once more.
func (f *finder) add(at int, p *piece) {
	if was := f.seen[p.name+" "+p.text]; was != nil {
		was.Times++
		return
	}
	for ; f.read < at; f.read++ {
		if f.text[f.read] == '\n' {
			f.line, f.begins = f.line+1, f.read+1
		}
	}
	p.Place = Place{Line: f.line, Column: at - f.begins + 1, Times: 1}
	f.seen[p.name+" "+p.text] = p
	f.found = append(f.found, p)
}

// wordLen is how long the word is that a text begins with.
func wordLen(text string) int {
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	return n
}

// isWord tells whether a token may have the character: those of base64 for URLs.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// isNameChar tells whether a cookie's or header's name may have the character (RFC 9110, token).
func isNameChar(c byte) bool { return isWord(c) || strings.IndexByte("!#$%&'*+.^`|~", c) >= 0 }

// lastOutside is where the last character stands that is not such a one; -1 for none.
func lastOutside(text string, is func(byte) bool) int {
	at := len(text) - 1
	for at >= 0 && is(text[at]) {
		at--
	}
	return at
}
