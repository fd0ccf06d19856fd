package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// awayGrace is for how long objects can't be followed until that is told: API servers restart.
	awayGrace = 10 * time.Second
	// maxAway is how many resources are named then.
	maxAway = 3
)

// listWatch lists and watches a resource in all namespaces, and tells what becomes of each time that it does; nil for
// no error.
func (s *Source) listWatch(r schema.GroupVersionResource, fields, labels string, tell func(error)) cache.ListerWatcher {
	client := s.client.Resource(r)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector, options.LabelSelector = fields, labels
			list, err := client.List(ctx, options)
			tell(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			options.FieldSelector, options.LabelSelector = fields, labels
			w, err := client.Watch(ctx, options)
			tell(err)
			return w, err
		},
	}, s.client)
}

// noteAway notes whether a resource's objects can be followed, which counts for nothing once ctx has ended.
func (s *Source) noteAway(ctx context.Context, r schema.GroupVersionResource, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch was, is := s.away[r]; {
	case ctx.Err() != nil:
	case err == nil:
		delete(s.away, r)
	case is:
		s.away[r] = Fault{Words: err.Error(), Since: was.Since}
	default:
		s.away[r] = Fault{Words: err.Error(), Since: time.Now()}
	}
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
	f.Words = fmt.Sprintf(
		"the API server does not let limpet follow %s, which may be others by now: %s",
		nameFirst(names, maxAway),
		f.Words,
	)
	return f
}
