package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed words.txt
var wordFile string

// wordTable are pairs of an old word of messages and the one that has taken its place.
type wordTable struct{ replace *strings.Replacer }

// parseWords reads a table of OLD<TAB>NEW. It refuses lines that are no pair, which would let nothing pass.
func parseWords(table string) (wordTable, error) {
	var pairs []string
	for line := range strings.Lines(table) {
		if line = strings.TrimRight(line, "\r\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		old, now, isPair := strings.Cut(line, "\t")
		if !isPair || old == "" || strings.Contains(now, "\t") {
			return wordTable{}, fmt.Errorf("words.txt: %q: must be OLD<TAB>NEW", line)
		}
		pairs = append(pairs, old, now)
	}
	return wordTable{strings.NewReplacer(pairs...)}, nil
}

// equal tells whether two texts differ by the table's words alone. A new word may contain the old one, and an old word
// may still stand on both sides.
func (w wordTable) equal(old, now string) bool {
	if old == now {
		return true
	}
	replaced := w.replace.Replace(old)
	return replaced == now || replaced == w.replace.Replace(now)
}
