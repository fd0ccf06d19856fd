package read

import (
	"bytes"
	"encoding/json"
	"path/filepath"
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
	// root is parsed again when the line of a field is asked for, for most documents have no problem. Documents of
	// one list share it, and may be asked at the same time.
	root    *yaml.Node
	parsing *sync.Mutex
	// lines are those that were asked for, from the beginning of data, by the path.
	lines map[string]int
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
	return parseYAML(c.data)
}

// readDocuments gives the chunk's objects, and whether it holds nothing at all.
func (c *chunk) readDocuments(rep *report.Report) (docs []*Document, blank bool) {
	if fields, read := simpleYAML(c.data); read && !c.json {
		return expandItems(&Document{Fields: fields, chunk: c}, rep), false
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
	return docs, len(roots) == 0
}

func (c *chunk) reportFault(rep *report.Report, f fault) {
	rep.FailAt(filePosition{c.file, c.first - 1 + max(f.line, 1)}, f.path, f.message)
}

// lineOfPath finds the line of a field in the file, or of the nearest thing that encloses it.
func (c *chunk) lineOfPath(path string) int {
	c.parsing.Lock()
	defer c.parsing.Unlock()
	line, known := c.lines[path]
	if !known {
		line = c.findLine(path)
		if c.lines == nil {
			c.lines = map[string]int{}
		}
		c.lines[path] = line
	}
	return c.first - 1 + line
}

// findLine is line from the beginning of the chunk.
func (c *chunk) findLine(path string) int {
	if path == "" && !c.json {
		return firstContentLine(c.data)
	}
	if line, found := simpleLine(c.data, splitPath(path)); found && !c.json {
		return line
	}
	if c.root == nil {
		roots, broken := c.parse()
		if broken != nil || len(roots) != 1 {
			return 1
		}
		c.root = roots[0]
	}
	return findLine(c.root, splitPath(path))
}

// firstContentLine gives the line on which a YAML document's content begins, which is asked for of every object of a table, and
// needs no parser.
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
