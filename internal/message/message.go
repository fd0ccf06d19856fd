// Package message prints what limpet has to say to people, in lines that begin with "limpet: ", "error: " or
// "warning: ".
package message

import (
	"fmt"
	"io"
	"strings"

	"github.com/limpet-proxy/limpet/compiler"
)

// Print prints each line of a text with limpet's name in front; errors that were joined are one a line.
func Print(to io.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(to, "limpet: %s\n", strings.TrimRight(line, "\n"))
	}
}

// Printf is Print for a text that is put together.
func Printf(to io.Writer, format string, args ...any) { Print(to, fmt.Sprintf(format, args...)) }

// PrintErrors prints every refusal.
func PrintErrors(to io.Writer, refused compiler.Errors) {
	for _, p := range refused {
		fmt.Fprintf(to, "error: %s\n", p)
	}
}

// PrintWarnings prints what the compiler could not honour.
func PrintWarnings(to io.Writer, warnings []compiler.Problem) {
	for _, p := range warnings {
		PrintWarning(to, p.String())
	}
}

// PrintWarning prints one warning.
func PrintWarning(to io.Writer, text string) { fmt.Fprintf(to, "warning: %s\n", text) }

// Plural is "1 error", "2 errors".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
