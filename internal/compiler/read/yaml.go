package read

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// parseYAML gives the chunk's one document, or none where it has only comments.
func parseYAML(data []byte) ([]*yaml.Node, *fault) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, more yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxFault(err, data)
	}
	switch err := decoder.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxFault(err, data)
	default:
		return nil, &fault{line: more.Line, message: "a second document begins without a line --- before it"}
	}
	if isBlank(&root) {
		return nil, nil
	}
	return root.Content, nil
}

// isBlank reports whether a document is what stands between two separators with nothing but comments.
func isBlank(root *yaml.Node) bool {
	return len(root.Content) == 0 ||
		root.Content[0].Kind == yaml.ScalarNode && root.Content[0].Value == "" && root.Content[0].ShortTag() == "!!null"
}

var syntaxError = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`(?s)^yaml: (?:line ([0-9]+): )?(.*)$`) },
)

// syntaxFault takes the line number out of the library's error. What its parser, as opposed to its scanner, finds
// it counts from 0; the end of the text is then a line too far.
func syntaxFault(err error, data []byte) *fault {
	parts := syntaxError().FindStringSubmatch(err.Error())
	if parts == nil {
		return &fault{message: "broken YAML: " + err.Error()}
	}
	line, _ := strconv.Atoi(parts[1]) // absent: 0, unknown
	message := strings.TrimSpace(parts[2])
	if strings.HasPrefix(message, "did not find expected") {
		line = min(line+1, bytes.Count(bytes.TrimRight(data, "\r\n"), []byte("\n"))+1)
	}
	if message == noKey || message == noItem {
		line = findStop(data, message, line)
	}
	message = hintIndentation(message, lineOf(data, max(line, 1)))
	if bytes.Contains(data, []byte("{{")) {
		message += templateHint
	}
	return &fault{line: line, message: "broken YAML: " + message}
}

// ExplainBroken says what is wrong with a file that the library refuses with an error, and on which line. The library
// alone counts lines from a document's beginning, or from 0.
func ExplainBroken(file string, data []byte, refusal error) (line int, message string) {
	for _, c := range splitDocuments(file, bytes.TrimPrefix(data, byteOrderMark)) {
		if _, broken := c.parse(); broken != nil {
			return c.first - 1 + max(broken.line, 1), broken.message
		}
	}
	return 1, "broken YAML: " + refusal.Error()
}

// What the library's parser says where a block ends too early. The line that it names is that in which the block
// begins.
const (
	noKey  = "did not find expected key"
	noItem = "did not find expected '-' indicator"
)

// maxStopped bounds the texts in which the line is looked for at which the parser stopped: they are parsed several
// times.
const maxStopped = 1 << 20

// findStop finds the line at which the parser stops with a message, not before another.
func findStop(data []byte, message string, from int) int {
	if len(data) > maxStopped || from == 0 {
		return from
	}
	lines := bytes.SplitAfter(bytes.TrimRight(data, "\r\n"), []byte("\n"))
	stops := sort.Search(len(lines)-from, func(i int) bool {
		var root yaml.Node
		err := yaml.NewDecoder(bytes.NewReader(bytes.Join(lines[:from+i], nil))).Decode(&root)
		return err != nil && strings.HasSuffix(err.Error(), message)
	})
	return from + stops
}

// lineOf gives a line of a text, counted from 1; empty for none.
func lineOf(data []byte, line int) string {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	return string(lines[line-1])
}

// hintIndentation adds what is most often the matter to a message about a line.
func hintIndentation(message, line string) string {
	text := strings.TrimLeft(line, " ")
	switch {
	case strings.HasPrefix(text, "\t"):
		return "a tab is indentation here: YAML takes spaces alone"
	case (message == noKey || message == noItem) && text != line:
		return message + ": the line is not indented as the lines that it belongs to"
	case message == "mapping values are not allowed in this context" && strings.Count(text, ": ") > 1:
		return message + `: a text with ": " in it takes quotes`
	case message == "mapping values are not allowed in this context":
		return message + ": this line, or the one before, is not indented as the lines that it belongs to"
	}
	return message
}

// templateHint is for texts with what a template has where values go.
const templateHint = "; if it is a template, let what it belongs to fill it in first, such as 'helm template'"
