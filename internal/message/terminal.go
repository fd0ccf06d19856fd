package message

import (
	"io"

	"golang.org/x/term"
)

// file is what an open file has, and what writes to one.
type file interface{ Fd() uintptr }

// IsTerminal tells whether what is written goes to a terminal.
func IsTerminal(to io.Writer) bool {
	f, is := to.(file)
	return is && term.IsTerminal(int(f.Fd()))
}

// widthOf is how many columns a terminal has; 0 for what is none.
func widthOf(to io.Writer) int {
	if !IsTerminal(to) {
		return 0
	}
	width, _, err := term.GetSize(int(to.(file).Fd()))
	if err != nil {
		return 0
	}
	return width
}
