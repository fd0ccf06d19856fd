package kubernetes

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	apiobject "github.com/limpet-proxy/limpet/internal/compiler/object"
)

// statusOf gives an object's status as the API server has it, nil for none.
func (s *Source) statusOf(ref apiobject.Ref) json.RawMessage {
	s.lock.Lock()
	defer s.lock.Unlock()
	if o := s.objects[nameSource(ref.Kind, &metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name})]; o != nil {
		return o.status
	}
	return nil
}

// expectStatus says that an object's status is about to be written: the event that tells of that is no news.
func (s *Source) expectStatus(name string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.writing[name] = true
}

// noteStatus stores at once what was written into an object's status; nil for nothing. The watch may send it later, and
// until then the same would be written once more. restate notes any other change of the object meanwhile.
func (s *Source) noteStatus(name string, of *object, written *unstructured.Unstructured) {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.writing, name)
	now := s.objects[name]
	switch {
	case now == of && written != nil:
		next := *of
		next.ResourceVersion = written.GetResourceVersion()
		next.status, _ = json.Marshal(written.Object["status"]) // which came as JSON
		s.objects[name] = &next
	case now != of && (written == nil || now == nil || now.ResourceVersion != written.GetResourceVersion()):
		s.restate(name)
	}
}

// restate notes that others have written something of an object's status.
func (s *Source) restate(name string) {
	kind, key, _ := strings.Cut(name, "/")
	s.restated[apiobject.ParseKey(kind, key)] = true
	wake(s.written)
}

// takeRestated gives the objects of whose statuses others have written something since this was last asked for.
func (s *Source) takeRestated() []apiobject.Ref {
	s.lock.Lock()
	defer s.lock.Unlock()
	some := slices.Collect(maps.Keys(s.restated))
	clear(s.restated)
	return some
}
