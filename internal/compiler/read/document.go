package read

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Document is one object of the input, not yet checked against any schema.
type Document struct {
	// Fields is the object as JSON knows it: map[string]any, []any, string, bool, int64, float64 and nil.
	Fields map[string]any
	// Status is what the document's status said, once it has been taken out of the fields: what controllers have
	// written, which concerns those alone who write a new one.
	Status any
	// JSON is the object's JSON as it was read, without its status, where Keep was asked for it.
	JSON []byte

	chunk  *chunk
	prefix string     // where the object stands in its chunk: "items[3]" in a list, else empty
	name   string     // what String gives once the fields are released
	ref    object.Ref // likewise
	rename func(path string) string
}

// Rename sets how paths of the object that others work with are written in the document, where it was read in
// another shape; a path that is in the document's words already stays as it is.
func (d *Document) Rename(rename func(path string) string) { d.rename = rename }

// Path writes a path in the document's own words.
func (d *Document) Path(path string) string {
	if d.rename == nil {
		return path
	}
	return d.rename(path)
}

// KeepJSON notes the fields as they are, for those who write the object again with something added.
func (d *Document) KeepJSON() error {
	text, err := json.Marshal(d.Fields)
	d.JSON = text
	return err
}

// Release gives up the fields, once they have become something else; the document's name and lines stay known.
func (d *Document) Release() { d.name, d.ref, d.Fields = d.String(), d.Ref(), nil }

// StringAt gives a field of type string below the given keys; empty if it is absent or of another type.
func (d *Document) StringAt(keys ...string) string {
	var v any = d.Fields
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	s, _ := v.(string)
	return s
}

// Ref is the object, with what of it is there.
func (d *Document) Ref() object.Ref {
	if d.Fields == nil {
		return d.ref
	}
	return object.Ref{
		Kind:      d.StringAt("kind"),
		Namespace: d.StringAt("metadata", "namespace"),
		Name:      d.StringAt("metadata", "name"),
	}
}

// String names the object as "HTTPRoute default/cart", with what of it is there.
func (d *Document) String() string {
	if d.Fields == nil {
		return d.name
	}
	name := d.StringAt("metadata", "name")
	if ns := d.StringAt("metadata", "namespace"); ns != "" && name != "" {
		name = ns + "/" + name
	}
	return strings.TrimSpace(d.StringAt("kind") + " " + name)
}

// Locate gives the file and line of a field, or of the nearest thing that encloses it.
func (d *Document) Locate(path string) (file string, line int) {
	if d.prefix != "" {
		path = d.prefix + "." + path
	}
	return d.chunk.file, d.chunk.lineOfPath(path)
}

// TextAt gives the text of a number, a boolean or a string as the document has it; empty where a path leads to none.
func (d *Document) TextAt(path string) string {
	if d.prefix != "" {
		path = d.prefix + "." + path
	}
	return d.chunk.textOfPath(path)
}

// expandList turns a node tree into objects: one, or those of a list.
func (c *chunk) expandList(root *yaml.Node, rep *report.Report) []*Document {
	b := &nodeConverter{aliases: c.aliases}
	v := b.convert(root)
	for _, f := range b.faults {
		c.reportFault(rep, f)
	}
	fields, ok := v.(map[string]any)
	switch {
	case len(b.faults) > 0:
		return nil
	case !ok:
		fields = map[string]any{} // text or a list: no object, so nothing is known of it
	}
	return expandItems(&Document{Fields: fields, chunk: c}, rep)
}

// expandItems gives the objects of a list, or the document itself when it is none.
func expandItems(d *Document, rep *report.Report) []*Document {
	kind, isList := strings.CutSuffix(d.StringAt("kind"), "List")
	entries, hasItems := d.Fields["items"].([]any)
	if !isList || !hasItems {
		return []*Document{d}
	}
	if len(entries) > documentLimit(d.chunk.data) {
		rep.UnreadableAt(report.FileUnreadable, d, strings.TrimPrefix(d.prefix+".items", "."), tooManyItems)
		return nil
	}
	var docs []*Document
	for i, entry := range entries {
		prefix := strings.TrimPrefix(d.prefix+".items["+strconv.Itoa(i)+"]", ".")
		fields, ok := entry.(map[string]any)
		if !ok {
			rep.UnreadableAt(report.FileUnreadable, d, prefix, "must be an object")
			continue
		}
		inheritType(fields, d, kind)
		docs = append(docs, expandItems(&Document{Fields: fields, chunk: d.chunk, prefix: prefix}, rep)...)
	}
	reportStrayFields(d, rep)
	return docs
}

// inheritType gives an item its list's type where it has none: an API server leaves it out of typed lists.
func inheritType(fields map[string]any, list *Document, kind string) {
	if _, has := fields["kind"]; !has && kind != "" {
		fields["kind"] = kind
		fields["apiVersion"] = list.Fields["apiVersion"]
	}
}

// reportStrayFields reports fields that lists don't have.
func reportStrayFields(list *Document, rep *report.Report) {
	for name := range list.Fields {
		switch name {
		case "apiVersion", "kind", "metadata", "items":
		default:
			rep.UnreadableAt(report.FileUnreadable, list, name, "unknown field")
		}
	}
}
