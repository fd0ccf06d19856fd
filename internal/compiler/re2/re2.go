// Package re2 judges regular expressions for Envoy, which compiles them with RE2 and refuses a whole table of routes
// for one that is invalid, or larger than its limit. Go's own expressions have the same syntax, but for what is found
// here.
package re2

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// MaxSize is how large a program may be. An expression of a route has some dozens of instructions; the time that a
// match may take, and the memory, grow with it.
const MaxSize = 2000

// maxLength is how long, in bytes, an expression may be to be compiled at all.
const maxLength = 4096

// Explain says why an expression is none that Envoy takes; empty if it is.
func Explain(expression string) string {
	if len(expression) > maxLength {
		return fmt.Sprintf("must be at most %d bytes", maxLength)
	}
	if strings.Contains(expression, "(?<") {
		return "must be an expression of RE2: a named group is (?P<name>...)"
	}
	if why := explainDialect(expression); why != "" {
		return why
	}
	size, err := Size(expression)
	switch {
	case err != nil:
		return "must be an expression of RE2: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	case size > MaxSize:
		return fmt.Sprintf("its program has about %d instructions, and may have %d", size, MaxSize)
	default:
		return ""
	}
}

// ExplainReplacement says why a text is no replacement for what a good expression matches; empty if it is. A backslash
// is followed by a group's digit or by another backslash.
func ExplainReplacement(expression, replacement string) string {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "" // which is for Explain to say
	}
	for i := 0; i < len(replacement); i++ {
		if c := replacement[i]; c < ' ' || c == 0x7f {
			return "must not have control characters"
		} else if c != '\\' {
			continue
		}
		i++
		switch {
		case i < len(replacement) && replacement[i] == '\\':
		case i == len(replacement) || replacement[i] < '0' || replacement[i] > '9':
			return `a backslash is written \\, or stands before a group's digit`
		case int(replacement[i]-'0') > tree.MaxCap():
			return fmt.Sprintf("the expression has no group %c", replacement[i])
		}
	}
	return ""
}

// Size estimates how many instructions RE2's program for an expression has, and never too few. RE2 works on bytes: a
// range of characters beyond ASCII takes an instruction for each byte of each of its parts.
func Size(expression string) (int, error) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, err
	}
	size := 0
	for i := range program.Inst {
		size += instructionSize(&program.Inst[i])
	}
	return size, nil
}

// The instructions that RE2 makes of a single range beyond ASCII, and of all characters.
const (
	wideRange = 6
	anyRange  = 10
)

func instructionSize(i *syntax.Inst) int {
	switch i.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return anyRange
	case syntax.InstRune:
		size := 0
		for n := 0; n+1 < len(i.Rune); n += 2 {
			if i.Rune[n+1] < 0x80 {
				size++
			} else {
				size += wideRange
			}
		}
		return max(size, 1)
	default:
		return 1
	}
}
