package re2

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRune is the last character: Envoy has RE2 read expressions as Latin-1, in which each byte is a character.
const maxRune = 0xff

// explainDialect says what in an expression Go takes and Envoy refuses, or reads in another way; empty for nothing. It
// looks at text between \Q and \E like at any other.
func explainDialect(expression string) string {
	for i := 0; i < len(expression); i++ {
		if expression[i] >= utf8.RuneSelf {
			return `must be ASCII, for Envoy compares bytes: write the bytes of another character, such as \xC3\xA9`
		}
		if expression[i] != '\\' {
			continue
		}
		i++
		if i+1 >= len(expression) || expression[i+1] != '{' {
			continue
		}
		braced, _, _ := strings.Cut(expression[i+2:], "}")
		if why := explainEscape(expression[i], braced); why != "" {
			return why
		}
	}
	return ""
}

// explainEscape is explainDialect for \p{braced}, \P{braced} and \x{braced}.
func explainEscape(letter byte, braced string) string {
	switch letter {
	case 'p', 'P':
		if name := strings.TrimPrefix(braced, "^"); !isClass(name) {
			return fmt.Sprintf(
				`must be an expression of RE2: \%c{%s}: neither a script nor a category of one or two letters`,
				letter,
				braced,
			)
		}
	case 'x':
		if code, err := strconv.ParseUint(braced, 16, 32); err != nil || code > maxRune {
			return fmt.Sprintf(`must be an expression of RE2: \x{%s}: Envoy compares bytes, the last of which is \x{FF}`, braced)
		}
	}
	return ""
}

// isClass tells whether RE2 has a class of that name. Go has more of them, and finds them in any spelling.
func isClass(name string) bool {
	if name == "Any" || unicode.Scripts[name] != nil {
		return true
	}
	return len(name) <= 2 && name != "LC" && name != "Cn" && unicode.Categories[name] != nil
}
