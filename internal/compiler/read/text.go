package read

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// ParseDocuments reads every object of the sources, in order. What is wrong goes to the report, all of it at once.
func ParseDocuments(sources []Source, rep *report.Report) []*Document {
	var docs []*Document
	texts := Split(sources, rep)
	for _, t := range texts {
		docs = append(docs, t.ParseDocuments(rep)...)
	}
	ReportEmpty(texts, rep)
	return docs
}

// Text is a part of a file that can be read without the others: one document, or a whole file of JSON or of YAML with
// aliases, whose number is bounded for the file.
type Text struct {
	chunks []*chunk
	last   bool // of its file
	blank  bool // once it is read: there is nothing in it
}

// Split cuts the sources into texts, in order. What can't be read at all goes to the report.
func Split(sources []Source, rep *report.Report) []*Text {
	type file struct {
		Source
		texts []*Text
		rep   report.Report
	}
	files := make([]*file, len(sources))
	for i, s := range sources {
		files[i] = &file{Source: s}
	}
	parallel.Each(files, func(some []*file) {
		for _, f := range some {
			f.texts = splitFile(f.Source, &f.rep)
		}
	})
	var all []*Text
	for _, f := range files {
		all = append(all, f.texts...)
		rep.Add(&f.rep)
	}
	return all
}

// splitFile cuts one file.
func splitFile(s Source, rep *report.Report) []*Text {
	if problem := cmp.Or(s.Problem, explainUnreadable(s.Data)); problem != "" {
		rep.UnreadableAt(report.FileUnreadable, filePosition{file: s.Name}, "", problem)
		return nil
	}
	chunks := splitDocuments(s.Name, bytes.TrimPrefix(s.Data, byteOrderMark))
	if len(chunks) > documentLimit(s.Data) {
		rep.UnreadableAt(report.FileUnreadable, filePosition{file: s.Name}, "", tooManyDocuments)
		return nil
	}
	if !isSeparable(s.Data) {
		return []*Text{{chunks: chunks, last: true}}
	}
	all := make([]*Text, len(chunks))
	for i, c := range chunks {
		all[i] = &Text{chunks: []*chunk{c}, last: i == len(chunks)-1}
	}
	return all
}

// isSeparable tells whether a file has neither aliases nor merge keys, for certain.
func isSeparable(data []byte) bool {
	return bytes.IndexByte(data, '&') < 0 && !bytes.Contains(data, []byte("<<"))
}

// ParseDocuments reads every object of a text, in order.
func (t *Text) ParseDocuments(rep *report.Report) []*Document {
	var docs []*Document
	t.blank = true
	for _, c := range t.chunks {
		found, blank := c.readDocuments(rep)
		docs = append(docs, found...)
		t.blank = t.blank && blank
	}
	return docs
}

// IsSelfContained tells whether the text's objects depend on the text and on nothing else: then equal texts have equal
// objects.
func (t *Text) IsSelfContained() bool { return len(t.chunks) == 1 && isSeparable(t.chunks[0].data) }

// File is the name of the file that the text is of.
func (t *Text) File() string { return t.chunks[0].file }

// Hash is the same for equal texts.
func (t *Text) Hash(seed maphash.Seed) uint64 { return maphash.Bytes(seed, t.chunks[0].data) }

// Equal tells whether two texts that are alone read the same.
func (t *Text) Equal(other *Text) bool {
	a, b := t.chunks[0], other.chunks[0]
	return a.json == b.json && bytes.Equal(a.data, b.data)
}

// MoveTo says that the document now stands in another text, equal to its own.
func (d *Document) MoveTo(t *Text) {
	c := t.chunks[0]
	d.chunk.file, d.chunk.first, d.chunk.data = c.file, c.first, c.data
}

// ReportEmpty reports the files without anything among texts that have been read, not even a comment: they may not be
// written yet.
func ReportEmpty(texts []*Text, rep *report.Report) {
	empty := true
	for _, t := range texts {
		empty = empty && t.blank && hasNoText(t.chunks)
		if t.last && empty {
			rep.UnreadableAt(
				report.FileUnreadable,
				filePosition{file: t.chunks[0].file},
				"",
				"the file is empty: it has no object",
			)
		}
		empty = empty || t.last
	}
}

// hasNoText reports whether there is nothing but white space in chunks.
func hasNoText(chunks []*chunk) bool {
	return !slices.ContainsFunc(chunks, func(c *chunk) bool { return len(bytes.TrimSpace(c.data)) > 0 })
}

// filePosition is a spot in a file that belongs to no object.
type filePosition struct {
	file string
	line int
}

func (p filePosition) Ref() object.Ref             { return object.Ref{} }
func (p filePosition) String() string              { return "" }
func (p filePosition) Locate(string) (string, int) { return p.file, p.line }
