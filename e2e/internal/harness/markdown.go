package harness

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Block is a fenced block of a Markdown document.
type Block struct {
	// Document is the file's path from the root of the tree; Line is that of the block's first line in it.
	Document string
	Line     int
	// Language is the first word after the fence.
	Language string
	// Text is what stands between the fences.
	Text string
	// NotRun is the reason in a comment "<!-- not run: REASON -->" right before the block.
	NotRun string
	// Printed says that the comment "<!-- printed -->" stands before the block: it is what the block of shell before it
	// prints.
	Printed bool
}

var notRun = regexp.MustCompile(`^<!-- not run: (.+) -->$`)

// Markdown is the paths of the documents in the root of the tree and in docs/. Fewer than least are an error, for then
// the patterns are wrong.
func Markdown(t testing.TB, least int) []string {
	t.Helper()
	root := Root(t)
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, name)
		}
	}
	if len(found) < least {
		t.Fatalf("only %d Markdown documents: %q", len(found), found)
	}
	return found
}

// ReadDocument reads a file of the tree.
func ReadDocument(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Blocks are the fenced blocks of a document, in their order.
func Blocks(t testing.TB, name string) []Block {
	t.Helper()
	var all []Block
	var open *Block
	reason, printed, number := "", false, 0
	for line := range strings.Lines(ReadDocument(t, name)) {
		number++
		text := strings.TrimRight(line, "\r\n")
		switch fence, isFence := strings.CutPrefix(text, "```"); {
		case isFence && open == nil:
			language, _, _ := strings.Cut(fence, " ")
			open = &Block{Document: name, Line: number + 1, Language: language, NotRun: reason, Printed: printed}
		case isFence:
			all = append(all, *open)
			open, reason, printed = nil, "", false
		case open != nil:
			open.Text += line
		case notRun.MatchString(text):
			reason = notRun.FindStringSubmatch(text)[1]
		case text != "":
			reason, printed = "", text == "<!-- printed -->"
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block has no end", name, open.Line)
	}
	return all
}
