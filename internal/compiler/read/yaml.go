package read

import (
	"bytes"
	"errors"
	"io"
	"regexp"
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
	if bytes.Contains(data, []byte("{{")) {
		message += templateHint
	}
	return &fault{line: line, message: "broken YAML: " + message}
}

// templateHint is for texts with what a template has where values go.
const templateHint = "; if it is a template, let what it belongs to fill it in first, such as 'helm template'"
