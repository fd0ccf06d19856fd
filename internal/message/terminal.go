package message

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal tells whether what is written goes to a terminal.
func IsTerminal(to io.Writer) bool {
	file, is := to.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// widthOf is how many columns a terminal has; 0 for what is none.
func widthOf(to io.Writer) int {
	if !IsTerminal(to) {
		return 0
	}
	width, _, err := term.GetSize(int(to.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}
