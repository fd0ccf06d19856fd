package kubernetes

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// watch follows the objects of a kind.
type watch struct {
	resource schema.GroupVersionResource
	ctx      context.Context // ends with it
	stop     context.CancelFunc
	synced   cache.InformerSynced
	store    cache.Store
	// denied says that the API server does not let us follow the objects.
	denied atomic.Bool
}

// newInformer makes what lists and watches a resource, and tells what becomes of each time that it does.
func (s *Source) newInformer(
	resource schema.GroupVersionResource, fields, labels string, tell func(error),
) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformerWithOptions(
		s.listWatch(resource, fields, labels, tell),
		&unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}, ObjectDescription: resource.String()},
	)
	// Neither fails before the informer runs.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if ctx.Err() == nil {
			s.log.Warn(
				"objects can't be followed at the moment; what is served stays",
				"resource",
				resource.GroupResource().String(),
				"reason",
				err,
			)
		}
	})
	return informer
}

func listDefinitions(store cache.Store) (all []*apiextensionsv1.CustomResourceDefinition) {
	for _, one := range store.List() {
		u, isObject := one.(*unstructured.Unstructured)
		d := &apiextensionsv1.CustomResourceDefinition{}
		if isObject && runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d) == nil {
			all = append(all, d)
		}
	}
	return all
}

// follow begins to follow kinds that have come, and ends following those that are gone.
func (s *Source) follow(ctx context.Context, definitions []*apiextensionsv1.CustomResourceDefinition) {
	wanted := findCustomKinds(definitions)
	maps.Copy(wanted, builtIn)
	s.lock.Lock()
	defer s.lock.Unlock()
	for kind := range dataKinds {
		if !s.followsData {
			delete(wanted, kind)
		}
	}
	if s.watches[podKind] != nil {
		wanted[podKind] = pods
	}
	for kind, w := range s.watches {
		if wanted[kind] != w.resource {
			s.log.Warn("a kind is gone, and its objects with it", "kind", kind.String())
			s.unfollow(ctx, kind, w)
		}
	}
	for kind, resource := range wanted {
		if s.watches[kind] == nil {
			s.watches[kind] = s.newWatch(ctx, kind, resource)
		}
	}
}

// newWatch follows the objects of a kind until it is stopped. Events that come after that count for nothing.
func (s *Source) newWatch(ctx context.Context, kind schema.GroupKind, resource schema.GroupVersionResource) *watch {
	own, stop := context.WithCancel(ctx)
	w := &watch{resource: resource, ctx: own, stop: stop}
	informer := s.newInformer(resource, selectors[kind], labelSelectors[kind], func(err error) {
		w.denied.Store(apierrors.IsForbidden(err))
		if kind != podKind || !w.denied.Load() { // whoever may not see Pods keeps none
			s.noteAway(own, resource, err)
		}
	})
	transform := reduce
	if _, is := dataKinds[kind]; is {
		transform = s.reduceReferred
	}
	_ = informer.SetTransform(transform) // fails only once it runs
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.set(own, kind, o) },
		UpdateFunc: func(_, o any) { s.set(own, kind, o) },
		DeleteFunc: func(o any) { s.remove(own, kind, o) },
	})
	if err != nil { // only for an informer that has ended
		s.log.Error("objects can't be followed", "kind", kind.String(), "reason", err)
	}
	w.synced, w.store = registration.HasSynced, informer.GetStore()
	go informer.RunWithContext(own)
	return w
}

// followPods follows Pods while a policy keeps those that Services no longer select, and at no other time: they are
// many.
func (s *Source) followPods(ctx context.Context) {
	w := s.watches[podKind]
	switch {
	case s.keeping > 0 && w == nil:
		s.watches[podKind] = s.newWatch(ctx, podKind, pods)
	case s.keeping == 0 && w != nil:
		s.unfollow(ctx, podKind, w)
	}
}

func (s *Source) set(ctx context.Context, kind schema.GroupKind, sent any) {
	o, known := sent.(*object)
	s.lock.Lock()
	defer s.lock.Unlock()
	if !known || ctx.Err() != nil {
		return
	}
	name := nameSource(kind.Kind, o)
	if o.text == nil {
		if was := s.objects[name]; was == nil && s.references[name] > 0 ||
			was != nil && was.ResourceVersion != o.ResourceVersion {
			s.read(name)
		}
		return
	}
	if kind == gatewayKind {
		s.address(name, o)
	}
	before := s.objects[name]
	s.nodes.note(name)
	s.refer(o, before)
	s.objects[name] = o
	s.keeping += o.keeping() - before.keeping()
	s.followPods(ctx)
	if before == nil || !bytes.Equal(before.text, o.text) {
		s.touched[name] = true
		s.noteChangeOf(kind)
		return
	}
	o.text = before.text // so that whoever compares sees at once that it is the same
	if !bytes.Equal(before.status, o.status) && !s.writing[name] {
		s.restate(name)
	}
}

// address gives a Gateway addresses from the pool, unless its proxies are managed: those have their Service's.
func (s *Source) address(name string, gateway *object) {
	if s.Manage && gateway.takeAddresses() || s.Pool == nil || !s.begun {
		return
	}
	if err := s.Pool.give(name, gateway); err != nil {
		s.log.Error("a Gateway gets no address", "object", name, "reason", err)
	}
}

func (s *Source) remove(ctx context.Context, kind schema.GroupKind, sent any) {
	if tombstone, missed := sent.(cache.DeletedFinalStateUnknown); missed {
		sent = tombstone.Obj
	}
	o, known := sent.(*object)
	s.lock.Lock()
	defer s.lock.Unlock()
	if known && ctx.Err() == nil && s.objects[nameSource(kind.Kind, o)] != nil {
		s.forget(nameSource(kind.Kind, o))
		s.followPods(ctx)
		s.noteChangeOf(kind)
	}
}

// unfollow ends following the objects of a kind, and forgets them.
func (s *Source) unfollow(ctx context.Context, kind schema.GroupKind, w *watch) {
	w.stop()
	delete(s.watches, kind)
	delete(s.away, w.resource)
	for name := range s.objects {
		if strings.HasPrefix(name, kind.Kind+"/") {
			s.forget(name)
		}
	}
	s.followPods(ctx)
	s.noteChangeOf(kind)
}

func (s *Source) forget(name string) {
	s.nodes.note(name)
	s.refer(nil, s.objects[name])
	s.keeping -= s.objects[name].keeping()
	s.touched[name] = true
	if s.Pool != nil {
		s.Pool.release(name)
	}
	delete(s.objects, name)
}
