package envoygateway

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	limpetschema "github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// object is a document, or a part of one, as JSON has it.
type object = map[string]any

// header stands at the top of the manifest.
const header = "# Written by limpet for Envoy Gateway; change the documents that it came from and compile again.\n"

// created makes a document of one of Envoy Gateway's kinds.
func created(kind, namespace, name string, spec object) object {
	return object{
		"apiVersion": version, "kind": kind,
		"metadata": object{
			"namespace": namespace, "name": name,
			"labels": object{"app.kubernetes.io/managed-by": "limpet"},
		},
		"spec": spec,
	}
}

// edit gives a document of the input to add to. It is as it was written, but for what an API server keeps there.
func edit[T any](e *emitter, o *limpetschema.Object[T]) object {
	key := o.String()
	if doc := e.edited[key]; doc != nil {
		return doc
	}
	doc := object{}
	if err := parse(o.Written, &doc); err != nil && e.err == nil {
		e.err = err
	}
	meta := child(doc, "metadata")
	for _, name := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
		delete(meta, name)
	}
	if notes, has := meta["annotations"].(object); has {
		delete(notes, "kubectl.kubernetes.io/last-applied-configuration")
	}
	e.edited[key] = doc
	return doc
}

// parse reads JSON, numbers as they are written.
func parse(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// child gives the object below the keys, made where it is missing.
func child(o object, keys ...string) object {
	for _, k := range keys {
		next, is := o[k].(object)
		if !is {
			next = object{}
			o[k] = next
		}
		o = next
	}
	return o
}

// objects gives the objects of a list.
func objects(o object, key string) []object {
	entries, _ := o[key].([]any)
	var found []object
	for _, entry := range entries {
		if one, is := entry.(object); is {
			found = append(found, one)
		}
	}
	return found
}

// text gives a string, empty for anything else.
func text(o object, key string) string {
	s, _ := o[key].(string)
	return s
}

// extend adds an entry to a list.
func extend(o object, key string, entry any) {
	entries, _ := o[key].([]any)
	o[key] = append(entries, entry)
}

// add puts a document into the manifest.
func (e *emitter) add(doc object) { e.docs = append(e.docs, doc) }

// has tells whether a document is in the manifest.
func (e *emitter) has(doc object) bool {
	return slices.ContainsFunc(e.docs, func(d object) bool { return sameObject(d, doc) })
}

func sameObject(a, b object) bool {
	one, other := child(a, "metadata"), child(b, "metadata")
	return a["kind"] == b["kind"] && one["namespace"] == other["namespace"] && one["name"] == other["name"]
}

// manifest writes the documents, with their keys in alphabetical order, so that equal ones give equal bytes.
func (e *emitter) manifest() ([]byte, error) {
	texts := make([]string, len(e.docs))
	for i, doc := range e.docs {
		text, err := yaml.Marshal(doc)
		if err != nil && e.err == nil {
			e.err = err
		}
		texts[i] = string(text)
	}
	return []byte(header + strings.Join(texts, "---\n")), e.err
}
