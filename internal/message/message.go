// Package message prints what limpet has to say to people, in lines that begin with "limpet: ", "error: ",
// "warning: " or "advice: "; what goes on from a line is indented.
package message

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Print prints each line of a text with limpet's name in front; errors that were joined are one a line. A line that
// begins with two spaces goes on from the one before, or is to be copied, and is printed as it is.
func Print(to io.Writer, text string) {
	for line := range strings.Lines(text) {
		name := "limpet: "
		if strings.HasPrefix(line, "  ") {
			name = ""
		}
		fmt.Fprintf(to, "%s%s\n", name, strings.TrimRight(line, "\n"))
	}
}

// Printf is Print for a text that is put together.
func Printf(to io.Writer, format string, args ...any) { Print(to, fmt.Sprintf(format, args...)) }

// PrintError prints each line of an error; errors that were joined are one a line.
func PrintError(to io.Writer, err error) {
	for line := range strings.Lines(Explain(err)) {
		fmt.Fprintf(to, "error: %s\n", strings.TrimRight(line, "\n"))
	}
}

// PrintPassedOver says in a line how many documents are none of limpet's business, by kind.
func PrintPassedOver(to io.Writer, kinds map[string]int) {
	if len(kinds) == 0 {
		return
	}
	total, parts := 0, make([]string, 0, len(kinds))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		total += kinds[kind]
		parts = append(parts, fmt.Sprintf("%d %s", kinds[kind], MakePrintable(kind)))
	}
	if more := len(parts) - maxKinds; more > 0 {
		parts = append(parts[:maxKinds], fmt.Sprintf("and %s", Plural(more, "more kind")))
	}
	Printf(to, "passed over %s that limpet has no use for: %s", Plural(total, "document"), strings.Join(parts, ", "))
}

// maxKinds is how many kinds are named.
const maxKinds = 20

// MakePrintable makes a text of the input safe for a terminal.
func MakePrintable(s string) string {
	quoted := strconv.QuoteToGraphic(s)
	return unquoter.Replace(quoted[1 : len(quoted)-1])
}

// unquoter leaves what a terminal shows as it is.
var unquoter = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// PrintWarning prints one warning.
func PrintWarning(to io.Writer, text string) { fmt.Fprintf(to, "warning: %s\n", text) }

// Plural is "1 error", "2 errors".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
