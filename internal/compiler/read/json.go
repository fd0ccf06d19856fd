package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// jsonReader builds the same node trees from JSON as the YAML library does from YAML.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	line    int // line of the byte at offset
	offset  int
	values  int // so far
}

// parseJSON gives the documents of a JSON file, which may follow each other.
func parseJSON(data []byte) ([]*yaml.Node, *fault) {
	r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.decoder.UseNumber()
	var roots []*yaml.Node
	for {
		root, err := r.readValue(0)
		switch {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return nil, r.newFault(err)
		}
		if roots = append(roots, root); len(roots) > documentLimit(r.data) {
			return nil, &fault{line: r.line, message: tooManyDocuments}
		}
	}
}

// newFault places an error at the line that the decoder had reached.
func (r *jsonReader) newFault(err error) *fault {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		r.advance(int(syntax.Offset))
	}
	return &fault{line: r.line, message: "broken JSON: " + err.Error()}
}

// advance moves the count of lines up to an offset.
func (r *jsonReader) advance(to int) {
	to = min(to, len(r.data))
	if to > r.offset {
		r.line += bytes.Count(r.data[r.offset:to], []byte("\n"))
		r.offset = to
	}
}

func (r *jsonReader) nextToken() (json.Token, error) {
	token, err := r.decoder.Token()
	r.advance(int(r.decoder.InputOffset()))
	return token, err
}

var errUnfinished = errors.New("unexpected end of the file")

func (r *jsonReader) readValue(depth int) (*yaml.Node, error) {
	token, err := r.nextToken()
	if err != nil {
		if depth > 0 && errors.Is(err, io.EOF) {
			return nil, errUnfinished
		}
		return nil, err
	}
	if depth > maxDepth {
		return nil, errors.New(tooDeep)
	}
	if r.values++; r.values > maxValues {
		return nil, errors.New(tooManyValues)
	}
	switch t := token.(type) {
	case json.Delim:
		return r.readComposite(t, depth)
	case string:
		return r.newScalar("!!str", t), nil
	case json.Number:
		if strings.ContainsAny(t.String(), ".eE") {
			return r.newScalar("!!float", t.String()), nil
		}
		return r.newScalar("!!int", t.String()), nil
	case bool:
		return r.newScalar("!!bool", strconv.FormatBool(t)), nil
	default:
		return r.newScalar("!!null", "null"), nil
	}
}

func (r *jsonReader) newScalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value, Line: r.line, Style: yaml.DoubleQuotedStyle}
}

// readComposite reads an object or array; its keys and values alternate as in the YAML library's nodes.
func (r *jsonReader) readComposite(open json.Delim, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: r.line}
	if open == '[' {
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	}
	for r.decoder.More() {
		item, err := r.readValue(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	if _, err := r.nextToken(); err != nil {
		if errors.Is(err, io.EOF) {
			err = errUnfinished
		}
		return nil, err
	}
	return n, nil
}
