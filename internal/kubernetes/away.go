package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

const (
	// awayGrace is for how long objects can't be followed until that is told: API servers restart.
	awayGrace = 10 * time.Second
	// maxAway is how many resources are named then.
	maxAway = 3
)

// observed is a client that tells what becomes of each list and watch; nil for no error.
type observed struct {
	dynamic.Interface
	tell func(error)
}

// Resource gives the objects of all namespaces.
func (o observed) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return observedResource{o.Interface.Resource(r), o.tell}
}

type observedResource struct {
	dynamic.NamespaceableResourceInterface
	tell func(error)
}

func (o observedResource) Namespace(string) dynamic.ResourceInterface { return o }

func (o observedResource) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := o.NamespaceableResourceInterface.List(ctx, options)
	o.tell(err)
	return list, err
}

func (o observedResource) Watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	w, err := o.NamespaceableResourceInterface.Watch(ctx, options)
	o.tell(err)
	return w, err
}

// noteAway notes whether a resource's objects can be followed.
func (s *Source) noteAway(r schema.GroupVersionResource, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if err == nil {
		delete(s.away, r)
		return
	}
	f := Fault{Words: err.Error(), Since: time.Now()}
	if was, is := s.away[r]; is {
		f.Since = was.Since
	}
	s.away[r] = f
}

// Fault says which objects can't be followed, so that what was read of them may be old.
func (s *Source) Fault() (f Fault) {
	s.lock.Lock()
	defer s.lock.Unlock()
	var names []string
	for _, r := range slices.SortedFunc(maps.Keys(s.away), func(a, b schema.GroupVersionResource) int {
		return strings.Compare(a.String(), b.String())
	}) {
		one := s.away[r]
		if time.Since(one.Since) < awayGrace {
			continue
		}
		if len(names) == 0 || one.Since.Before(f.Since) {
			f = one
		}
		names = append(names, r.GroupResource().String())
	}
	if len(names) == 0 {
		return Fault{}
	}
	named := strings.Join(names[:min(len(names), maxAway)], ", ")
	if more := len(names) - maxAway; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	f.Words = fmt.Sprintf("the API server does not let limpet follow %s, which may be others by now: %s", named, f.Words)
	return f
}
