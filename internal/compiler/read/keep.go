package read

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// KeepObjects gives a file in which the objects that problems are about are as an earlier text of the file has them, or
// are not there where that has none: these are absent. All else stays as it is, and where it is. It can't where an
// object is not to be told from others, and does not where the earlier text has an object that the file has no longer:
// then the file may be cut off, and objects gone that nobody deleted.
func KeepObjects(
	now, before Source, problems []report.Problem,
) (kept Source, absent map[string]bool, ok bool) {
	rep := &report.Report{}
	documents, earlier := ParseDocuments([]Source{now}, rep), map[objectName]*Document{}
	if len(before.Data) > 0 {
		for _, d := range ParseDocuments([]Source{before}, rep) {
			earlier[nameOf(d)] = d
		}
	}
	held, absent := map[*Document]bool{}, map[string]bool{}
	for _, p := range problems {
		about := slices.DeleteFunc(slices.Clone(documents), func(d *Document) bool { return !d.isAbout(p) })
		if len(about) != 1 {
			return Source{}, nil, false
		}
		held[about[0]], absent[p.Object] = true, earlier[nameOf(about[0])] == nil
	}
	lost := len(earlier)
	for _, d := range documents {
		if earlier[nameOf(d)] != nil {
			lost--
		}
	}
	if lost != 0 || !rep.Silent() {
		return Source{}, nil, false
	}
	kept = now
	kept.Data, ok = keepDocuments(now, documents, held, earlier)
	return kept, absent, ok
}

// objectName tells objects of a file apart.
type objectName struct {
	apiVersion string
	object.Ref
}

func nameOf(d *Document) objectName { return objectName{d.StringAt("apiVersion"), d.Ref()} }

// isAbout tells whether a problem is about the document, whose namespace it may name where the document does not.
func (d *Document) isAbout(p report.Problem) bool {
	written := d.Ref()
	if written.Namespace == "" {
		written.Namespace = p.Ref.Namespace
	}
	return written == p.Ref && d.chunk.first <= p.Line && p.Line <= d.chunk.first+bytes.Count(d.chunk.data, []byte("\n"))
}

// keepDocuments empties the chunks in which documents are held, and puts what goes on of these behind all others.
func keepDocuments(
	now Source, documents []*Document, held map[*Document]bool, earlier map[objectName]*Document,
) (kept []byte, ok bool) {
	emptied := map[int]bool{} // by their first lines
	for d := range held {
		emptied[d.chunk.first] = true
	}
	var behind [][]byte
	for _, d := range documents {
		if !emptied[d.chunk.first] {
			continue
		}
		if held[d] {
			if d = earlier[nameOf(d)]; d == nil {
				continue
			}
		}
		text, err := json.Marshal(d.Fields)
		if err != nil {
			return nil, false
		}
		behind = append(behind, text)
	}
	separator, isJSON := "\n---\n", filepath.Ext(now.Name) == ".json"
	if isJSON {
		separator = "\n"
	}
	for _, c := range splitDocuments(now.Name, bytes.TrimPrefix(now.Data, byteOrderMark)) {
		if emptied[c.first] {
			kept = append(kept, emptyChunk(c, isJSON)...)
		} else {
			kept = append(kept, c.data...)
		}
	}
	for _, text := range behind {
		kept = append(append(kept, separator...), text...)
	}
	return append(kept, '\n'), len(behind) > 0 || !isJSON
}

// emptyChunk gives as many lines without an object, in YAML with a comment, for a file must not be empty.
func emptyChunk(c *chunk, isJSON bool) []byte {
	begin := "#"
	if isJSON {
		begin = ""
	} else if bytes.HasPrefix(c.data, []byte("---")) {
		begin = "---"
	}
	return append([]byte(begin), bytes.Repeat([]byte("\n"), bytes.Count(c.data, []byte("\n")))...)
}
