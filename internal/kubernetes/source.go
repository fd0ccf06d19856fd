package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/limpet-proxy/limpet/compiler"
	apiobject "github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Source has the objects of an API server, of every kind that the compiler reads and the API server has. A kind whose
// CRD comes later is followed from then on.
type Source struct {
	// Pool, if there is one, has addresses for Gateways without any.
	Pool *Pool

	// Manage says that limpet runs the proxies of Gateways that do not say otherwise.
	Manage bool

	client dynamic.Interface
	log    *slog.Logger
	// changed has a value while there is a change that Next has not returned, and written while there are objects in
	// restated.
	changed, written chan struct{}

	lock    sync.Mutex
	objects map[string]*object // by nameSource
	// listed are the objects' texts in the order of their names, as Sources gave them last, and touched are the names of
	// those that may be others now.
	listed  []compiler.Source
	touched map[string]bool
	since   time.Time // when the first change came that Next has not told of
	watches map[schema.GroupKind]*watch
	writing map[string]bool // objects whose statuses are being written
	// restated are the objects of whose statuses others have written something.
	restated map[apiobject.Ref]bool
	// references counts the objects that refer to a Secret or ConfigMap, by its name; reading are those that are being
	// read, true for once more after that, and settled has a value when one was.
	references map[string]int
	reading    map[string]bool
	settled    chan struct{}
	readers    chan struct{} // which has room for as many as may read
	// followsData says that Secrets and ConfigMaps are followed: after all else, so that the references to them are known.
	followsData bool
	// begun says that Gateways whose statuses show addresses have theirs, so that others may have the rest.
	begun bool
	// keeping is how many policies keep Pods that Services no longer select.
	keeping int
	nodes   nodes
	// away are the resources whose objects can't be followed.
	away map[schema.GroupVersionResource]Fault
}

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

// NewSource makes a source that has nothing before Start.
func NewSource(client dynamic.Interface, log *slog.Logger) *Source {
	return &Source{
		client: client, log: log, changed: make(chan struct{}, 1), written: make(chan struct{}, 1),
		objects: map[string]*object{}, touched: map[string]bool{}, watches: map[schema.GroupKind]*watch{},
		writing:    map[string]bool{},
		restated:   map[apiobject.Ref]bool{},
		references: map[string]int{}, reading: map[string]bool{}, settled: make(chan struct{}, 1),
		readers: make(chan struct{}, mostReaders), away: map[schema.GroupVersionResource]Fault{},
	}
}

// Start begins to follow the objects, and returns when it has all that exist.
func (s *Source) Start(ctx context.Context) error {
	definitions := s.newInformer(crds, "", "", func(err error) { s.noteAway(ctx, crds, err) })
	handler := func() { s.follow(ctx, listDefinitions(definitions.GetStore())) }
	registration, err := definitions.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(any, bool) { handler() },
		UpdateFunc: func(any, any) { handler() },
		DeleteFunc: func(any) { handler() },
	})
	if err != nil {
		return err
	}
	go definitions.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return context.Cause(ctx)
	}
	for _, data := range []bool{false, true} {
		s.followData(data)
		handler() // there may be no CRD at all
		if !cache.WaitForCacheSync(ctx.Done(), s.isSynced) {
			return context.Cause(ctx)
		}
	}
	if err := s.followNodes(ctx); err != nil {
		return err
	}
	s.awaitRead(ctx)
	s.takeChange()
	return s.giveAddresses()
}

func (s *Source) followData(follows bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.followsData = follows
}

// giveAddresses gives all Gateways their addresses, those first that have one in their status.
func (s *Source) giveAddresses() (err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.begun = true
	for _, isShown := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(s.objects)) {
			o := s.objects[name]
			if s.Pool != nil && !o.run && strings.HasPrefix(name, gatewayKind.Kind+"/") &&
				(len(shownAddresses(o.status)) > 0) == isShown {
				err = errors.Join(err, s.Pool.give(name, o))
				s.touched[name] = true
			}
		}
	}
	return err
}

// isSynced tells whether the objects of each kind that is followed have come. Pods do not have to: whoever may not see
// them keeps none.
func (s *Source) isSynced() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	for kind, w := range s.watches {
		if !w.synced() && (kind != podKind || !w.denied.Load()) {
			return false
		}
	}
	return true
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
	s.objects[name], s.touched[name] = o, true
	s.keeping += o.keeping() - before.keeping()
	s.followPods(ctx)
	switch {
	case before == nil, !bytes.Equal(before.text, o.text):
		s.noteChange()
	case !bytes.Equal(before.status, o.status) && !s.writing[name]:
		s.restate(name)
	}
	if before != nil && bytes.Equal(before.text, o.text) {
		o.text = before.text // so that whoever compares sees at once that it is the same
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
		s.noteChange()
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
	s.noteChange()
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

// Touch says that something else has changed that is read together with the objects.
func (s *Source) Touch() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.noteChange()
}

func (s *Source) noteChange() {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	wake(s.changed)
}

// wake puts a value into a channel that has room for one, unless there is one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Settle is how long a change waits for others that come with it: one of kubectl's applications, or a new Pod in
// several slices.
const Settle = 5 * time.Millisecond

// Next waits for a change since its last return, or until a time that is not zero. It returns the time of the first
// sign of the change; false when ctx ends or that time has come.
func (s *Source) Next(ctx context.Context, until time.Time) (since time.Time, changed bool) {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return time.Time{}, false
	case <-due:
		return time.Now(), false
	case <-s.changed:
	}
	if pause(ctx, Settle); ctx.Err() != nil {
		return time.Time{}, false
	}
	s.awaitRead(ctx)
	return s.takeChange(), true
}

// takeChange gives the time of the first change that was not told of, which is told of now.
func (s *Source) takeChange() time.Time {
	s.lock.Lock()
	defer s.lock.Unlock()
	select {
	case <-s.changed:
	default:
	}
	since := s.since
	s.since = time.Time{}
	return since
}

// Sources are the objects without their statuses, in the order of their names. The list does not change once it is
// given.
func (s *Source) Sources() []compiler.Source {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch {
	case len(s.touched) == 0:
		return s.listed
	case len(s.touched) > manyTouched:
		s.listed = make([]compiler.Source, 0, len(s.objects))
		for _, name := range slices.Sorted(maps.Keys(s.objects)) {
			s.listed = append(s.listed, compiler.Source{Name: name, Data: s.objects[name].text})
		}
	default:
		s.listed = slices.Clone(s.listed)
		for name := range s.touched {
			s.mendListed(name)
		}
	}
	clear(s.touched)
	return s.listed
}

// manyTouched is from how many touched objects on their list is made anew, not mended.
const manyTouched = 256

// mendListed brings the list up to date with one object.
func (s *Source) mendListed(name string) {
	at, known := slices.BinarySearchFunc(
		s.listed,
		name,
		func(one compiler.Source, name string) int { return strings.Compare(one.Name, name) },
	)
	o := s.objects[name]
	switch {
	case o == nil && known:
		s.listed = slices.Delete(s.listed, at, at+1)
	case o != nil && !known:
		s.listed = slices.Insert(s.listed, at, compiler.Source{Name: name, Data: o.text})
	case o != nil:
		s.listed[at].Data = o.text
	}
}

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

// errNotFollowed says that an object is of a kind that is not followed, or is gone.
var errNotFollowed = errors.New("it is gone")

// find returns an object as it was seen last, and its resource.
func (s *Source) find(kind schema.GroupKind, namespace, name string) (*object, schema.GroupVersionResource, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	o := s.objects[nameSource(kind.Kind, &metav1.ObjectMeta{Namespace: namespace, Name: name})]
	w := s.watches[kind]
	if o == nil || w == nil {
		return nil, schema.GroupVersionResource{}, errNotFollowed
	}
	return o, w.resource, nil
}
