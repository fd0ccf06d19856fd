package envoygateway

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// jsonObject is a document, or a part of one, as JSON has it.
type jsonObject = map[string]any

// header stands at the top of the manifest.
const header = "# Written by limpet for Envoy Gateway; change the documents that it came from and compile again.\n"

// newDocument makes a document of one of Envoy Gateway's kinds, in the namespace of what needs it: a Gateway, or a
// namespace as such.
func (e *emitter) newDocument(kind string, needs object.Ref, name string, spec jsonObject) jsonObject {
	e.noteOwner(object.Ref{Kind: kind, Namespace: needs.Namespace, Name: name}, needs)
	return jsonObject{
		"apiVersion": version, "kind": kind,
		"metadata": jsonObject{
			"namespace": needs.Namespace, "name": name,
			"labels": object.OwnerLabels(e.options.Owner),
		},
		"spec": spec,
	}
}

// noteOwner notes an object that is about to be written if it is another's: what needs it goes without sessions.
func (e *emitter) noteOwner(ref, needs object.Ref) {
	if e.plan.MayWrite(ref, e.options.Owner, e.owners) {
		return
	}
	if have, is := e.taken[needs]; !is || !e.plan.WroteBefore(have) {
		e.taken[needs] = ref
	}
}

// isReplaced tells whether an object of the input is limpet's own of a name that is written, which takes its place.
func (e *emitter) isReplaced(o *ir.Object, name string) bool {
	return o.Name == name && e.plan.WroteBefore(o.Ref)
}

// extendDocument is editDocument for an object that is written again with more in it, for a Gateway: it may not be
// another owner's.
func (e *emitter) extendDocument(o *ir.Object, g *ir.Gateway) jsonObject {
	if e.plan.WroteBefore(o.Ref) {
		e.noteOwner(o.Ref, g.Ref)
	}
	return e.editDocument(o)
}

// editDocument gives a document of the input to add to. It is as it was written, but for what an API server keeps
// there.
func (e *emitter) editDocument(o *ir.Object) jsonObject {
	key := o.Subject.String()
	if doc := e.edited[key]; doc != nil {
		return doc
	}
	doc, err := o.Parse()
	if err != nil && e.err == nil {
		e.err = err
	}
	e.edited[key] = doc
	return doc
}

// parseJSON reads JSON, numbers as they are written.
func parseJSON(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// childObject gives the object below the keys, made where it is missing.
func childObject(o jsonObject, keys ...string) jsonObject {
	for _, k := range keys {
		next, is := o[k].(jsonObject)
		if !is {
			next = jsonObject{}
			o[k] = next
		}
		o = next
	}
	return o
}

// listObjects gives the objects of a list.
func listObjects(o jsonObject, key string) []jsonObject {
	entries, _ := o[key].([]any)
	var found []jsonObject
	for _, entry := range entries {
		if one, is := entry.(jsonObject); is {
			found = append(found, one)
		}
	}
	return found
}

// stringField gives a string, empty for anything else.
func stringField(o jsonObject, key string) string {
	s, _ := o[key].(string)
	return s
}

// appendEntry adds an entry to a list.
func appendEntry(o jsonObject, key string, entry any) {
	entries, _ := o[key].([]any)
	o[key] = append(entries, entry)
}

// addDocument puts a document into the manifest.
func (e *emitter) addDocument(doc jsonObject) { e.documents = append(e.documents, doc) }

// hasDocument tells whether a document is in the manifest.
func (e *emitter) hasDocument(doc jsonObject) bool {
	return slices.ContainsFunc(e.documents, func(d jsonObject) bool { return sameObject(d, doc) })
}

func sameObject(a, b jsonObject) bool {
	one, other := childObject(a, "metadata"), childObject(b, "metadata")
	return a["kind"] == b["kind"] && one["namespace"] == other["namespace"] && one["name"] == other["name"]
}

// renderManifest writes the documents, with their keys in alphabetical order, so that equal ones give equal bytes.
func (e *emitter) renderManifest() ([]byte, error) {
	texts := make([]string, len(e.documents))
	for i, doc := range e.documents {
		text, err := yaml.Marshal(doc)
		if err != nil && e.err == nil {
			e.err = err
		}
		texts[i] = string(text)
	}
	return []byte(header + strings.Join(texts, "---\n")), e.err
}
