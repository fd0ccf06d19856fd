package kubernetes

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A cluster has many Secrets and ConfigMaps, and limpet keeps those alone that other objects refer to: of the rest it
// knows the names. One that is referred to later is read then. One that was referred to stays until it is gone, for the
// proxies of a Gateway that is tried may go on by it.

// marks are the texts of which an object has some if it refers to a Secret or ConfigMap.
var marks = [][]byte{
	[]byte(`"certificateRefs"`), []byte(`"clientCertificateRef"`), []byte(`"secretName"`), []byte(`"caSecret"`),
	[]byte(`"Secret"`), []byte(`"ConfigMap"`),
}

// listReferences lists the Secrets and ConfigMaps that an object's spec refers to, as nameSource calls them. There may
// be more than are of use.
func listReferences(u *unstructured.Unstructured, text []byte) []string {
	if !slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(text, mark) }) {
		return nil
	}
	found := map[string]bool{}
	findReferences(u.Object["spec"], "", u.GetNamespace(), func(name string) { found[name] = true })
	all := make([]string, 0, len(found))
	for name := range found {
		all = append(all, name)
	}
	return all
}

// findReferences goes through a part of an object. Kind is what references in it are of that don't say, and namespace
// is the object's.
func findReferences(part any, kind, namespace string, found func(name string)) {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			findReferences(one, kind, namespace, found)
		}
	case map[string]any:
		if name := readReference(part, kind, namespace); name != "" {
			found(name)
		}
		for key, one := range part {
			switch key {
			case "secretName", "caSecret": // Contour's
				if name, is := one.(string); is {
					found("Secret/" + qualify(name, namespace))
				}
			case "certificateRefs", "clientCertificateRef":
				findReferences(one, "Secret", namespace, found)
			default:
				findReferences(one, "", namespace, found)
			}
		}
	}
}

// qualify returns namespace/name for a name with or without its namespace.
func qualify(name, namespace string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}

// readReference returns the name of the object that a reference means; empty for one that limpet does not read.
func readReference(ref map[string]any, kind, namespace string) string {
	if named, _ := ref["kind"].(string); named != "" {
		kind = named
	}
	if own, _ := ref["namespace"].(string); own != "" {
		namespace = own
	}
	name, _ := ref["name"].(string)
	if _, is := dataKinds[schema.GroupKind{Kind: kind}]; !is || name == "" {
		return ""
	}
	return kind + "/" + namespace + "/" + name
}

// reduceReferred is reduce, for a Secret or ConfigMap that nothing refers to without its text.
func (s *Source) reduceReferred(sent any) (any, error) {
	u, whole := sent.(*unstructured.Unstructured)
	if !whole || s.isReferred(nameSource(u.GetKind(), u)) {
		return reduce(sent)
	}
	return &object{ObjectMeta: describeState(u)}, nil
}

func (s *Source) isReferred(name string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.references[name] > 0 || s.objects[name] != nil
}

// refer counts what an object refers to in the place of the one before, either of which may be nil. What is referred to
// from now on is read.
func (s *Source) refer(now, before *object) {
	if now != nil {
		for _, name := range now.references {
			if s.references[name]++; s.references[name] == 1 && s.objects[name] == nil {
				s.read(name)
			}
		}
	}
	if before != nil {
		for _, name := range before.references {
			if s.references[name]--; s.references[name] == 0 {
				delete(s.references, name)
			}
		}
	}
}

// read reads a Secret or ConfigMap, if there is one of which only the name is known.
func (s *Source) read(name string) {
	kind, key, _ := strings.Cut(name, "/")
	w := s.watches[schema.GroupKind{Kind: kind}]
	if w == nil {
		return
	}
	if _, exists, err := w.store.GetByKey(key); !exists || err != nil {
		return
	}
	if _, is := s.reading[name]; is { // what was read may be older than what this is for
		s.reading[name] = true
		return
	}
	s.reading[name] = false
	before := s.objects[name]
	go func() {
		s.readers <- struct{}{}
		o := s.fetch(w, name)
		<-s.readers
		s.lock.Lock()
		defer s.lock.Unlock()
		again := s.reading[name]
		delete(s.reading, name)
		wake(s.wasRead)
		_, exists, _ := w.store.GetByKey(key)
		if o != nil && exists && s.objects[name] == before { // or else an event was sooner
			s.objects[name], s.touched[name] = o, true
			s.noteChange()
		}
		if again {
			s.read(name)
		}
	}()
}

// mostReaders is how many are read at a time.
const mostReaders = 16

// fetchAgain is how long to wait after a read that has failed.
const fetchAgain = time.Second

// fetch gets a Secret or ConfigMap as newWatch would see it; nil if there is none by now. It lists that one, which
// needs no right of its own.
func (s *Source) fetch(w *watch, name string) *object {
	ctx := w.ctx
	_, namespace, only := selectReferred(name)
	for ctx.Err() == nil {
		list, err := s.client.Resource(w.resource).Namespace(namespace).List(ctx, only)
		if err == nil && len(list.Items) == 0 {
			return nil
		}
		if err == nil {
			var reduced any
			if reduced, err = reduce(&list.Items[0]); err == nil {
				return reduced.(*object)
			}
		}
		s.log.Warn("an object can't be read that others refer to", "object", name, "reason", err)
		pause(ctx, fetchAgain)
	}
	return nil
}

// selectReferred says of what something refers to which kind it is, where it is, and how a list has it alone, as
// newWatch would see it.
func selectReferred(name string) (kind schema.GroupKind, namespace string, only metav1.ListOptions) {
	parts := strings.Split(name, "/")
	kind = schema.GroupKind{Kind: parts[0]}
	selector := fields.OneTermEqualSelector("metadata.name", parts[2]).String()
	if of := selectors[kind]; of != "" {
		selector += "," + of
	}
	return kind, parts[1], metav1.ListOptions{FieldSelector: selector, LabelSelector: labelSelectors[kind]}
}

// readPatience is how long changes wait for what they refer to.
const readPatience = 250 * time.Millisecond

// awaitRead waits until all is read that is referred to.
func (s *Source) awaitRead(ctx context.Context) {
	enough := time.After(readPatience)
	for s.isReading() {
		select {
		case <-ctx.Done():
			return
		case <-enough:
			return
		case <-s.wasRead:
		}
	}
}

func (s *Source) isReading() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.reading) > 0
}
