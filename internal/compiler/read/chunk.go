package read

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// chunk is the text of one document: all of a JSON file, or what stands between two "---" lines of a YAML file.
type chunk struct {
	file  string
	data  []byte
	first int // line in the file that data begins on, from 1
	json  bool
	// aliases counts the values that the file's aliases have made; its chunks share it, and are read in order.
	aliases *int
	// root is the one document of several in a chunk, or is parsed again when the line of a field is asked for and the
	// simple reader doesn't find it: most documents have no problem. Documents of one list share it, and may be asked at
	// the same time.
	root    *yaml.Node
	parsing *sync.Mutex
	// positions are where fields are, once that is asked for.
	positions *positions
}

// splitDocuments cuts a file into its documents. A line that begins with "---" ends a document wherever it stands
// (YAML 1.2, rule c-forbidden), so no parser is needed to find it. Directives and comments belong to what follows.
func splitDocuments(file string, data []byte) []*chunk {
	all := chunk{file: file, data: data, first: 1, aliases: new(int), parsing: new(sync.Mutex)}
	if filepath.Ext(file) == ".json" || json.Valid(data) {
		all.json = true
		return []*chunk{&all}
	}
	var chunks []*chunk
	start, first, line, content := 0, 1, 0, false
	cut := func(end int) {
		part := all
		part.data, part.first = data[start:end], first
		chunks = append(chunks, &part)
	}
	at := 0
	for text := range bytes.Lines(data) {
		line++
		if content && isSeparator(text) {
			cut(at)
			start, first = at, line
		}
		content = content || !bytes.ContainsAny(text[:1], "#%\r\n")
		at += len(text)
	}
	cut(len(data))
	return chunks
}

// isSeparator reports whether a line begins a new YAML document.
func isSeparator(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// parse gives the chunk's node trees: one or none for YAML, any number for JSON.
func (c *chunk) parse() ([]*yaml.Node, *fault) {
	if c.json {
		return parseJSON(c.data)
	}
	if isDense(c.data) {
		return nil, &fault{message: tooManyValues}
	}
	return parseYAML(c.data)
}

// readDocuments gives the chunk's objects, and whether it holds nothing at all.
func (c *chunk) readDocuments(rep *report.Report) (docs []*Document, blank bool) {
	if fields, read := simpleYAML(c.data); read && !c.json {
		return c.withoutLarge(expandItems(&Document{Fields: fields, chunk: c}, rep), rep), false
	}
	roots, broken := c.parse()
	if broken != nil {
		c.reportFault(rep, *broken)
		return nil, false
	}
	for i, root := range roots {
		part := *c
		if len(roots) > 1 {
			part.root = roots[i]
		}
		docs = append(docs, part.expandList(root, rep)...)
	}
	return c.withoutLarge(docs, rep), len(roots) == 0
}

// withoutLarge refuses the objects that no API server would store.
func (c *chunk) withoutLarge(docs []*Document, rep *report.Report) []*Document {
	if len(c.data) < worthAsking && *c.aliases == 0 {
		return docs
	}
	return slices.DeleteFunc(docs, func(d *Document) bool {
		large := isTooLarge(d.Fields, maxObject)
		if large {
			rep.ErrorAt(report.InvalidField, d, "", tooLarge)
		}
		return large
	})
}

func (c *chunk) reportFault(rep *report.Report, f fault) {
	rep.UnreadableAt(report.FileUnreadable, filePosition{c.file, c.first - 1 + max(f.line, 1)}, f.path, f.message)
}

// lineOfPath finds the line of a field in the file, or of the nearest thing that encloses it.
func (c *chunk) lineOfPath(path string) int {
	defer c.lockPositions()()
	return c.first - 1 + c.positions.findLine(c, path)
}

// textOfPath finds the text of a value.
func (c *chunk) textOfPath(path string) string {
	defer c.lockPositions()()
	return c.positions.findText(c, path)
}

func (c *chunk) lockPositions() (unlock func()) {
	c.parsing.Lock()
	if c.positions == nil {
		c.positions = &positions{}
	}
	return c.parsing.Unlock
}

// firstContentLine gives the line on which a YAML document's content begins, which is asked for of every object of a
// table, and needs no parser.
func firstContentLine(data []byte) int {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		text = bytes.TrimSpace(text)
		if isSeparator(text) {
			text = bytes.TrimSpace(text[3:])
		}
		if len(text) > 0 && text[0] != '#' && text[0] != '%' {
			return line
		}
	}
	return 1
}

// fault is a break of the rules of YAML, JSON or ours at a line of a chunk, counted from 1; 0 is unknown.
type fault struct {
	line          int
	path, message string
}
