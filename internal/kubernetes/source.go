package kubernetes

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/limpet-proxy/limpet/compiler"
	apiobject "github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
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
	listed  read.List
	touched map[string]bool
	since   time.Time // when the first change came that Next has not told of
	watches map[schema.GroupKind]*watch
	writing map[string]bool // objects whose statuses are being written
	// restated are the objects of whose statuses others have written something.
	restated map[apiobject.Ref]bool
	// hooks are called when an object of a kind has come, is another one, or has gone.
	hooks map[schema.GroupKind][]func()
	// references counts the objects that refer to a Secret or ConfigMap, by its name; reading are those that are being
	// read, true for once more after that, and wasRead has a value when one was.
	references map[string]int
	reading    map[string]bool
	wasRead    chan struct{}
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

// NewSource makes a source that has nothing before Start.
func NewSource(client dynamic.Interface, log *slog.Logger) *Source {
	return &Source{
		client: client, log: log, changed: make(chan struct{}, 1), written: make(chan struct{}, 1),
		objects: map[string]*object{}, touched: map[string]bool{}, watches: map[schema.GroupKind]*watch{},
		writing:    map[string]bool{},
		restated:   map[apiobject.Ref]bool{},
		hooks:      map[schema.GroupKind][]func(){},
		references: map[string]int{}, reading: map[string]bool{}, wasRead: make(chan struct{}, 1),
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
	if s.begun = true; s.Pool == nil {
		return nil
	}
	s.mendList()
	for _, isShown := range []bool{true, false} {
		for gateway := range s.listed.From(gatewayKind.Kind + "/") {
			o := s.objects[gateway.Name]
			if !o.run && (len(shownAddresses(o.status)) > 0) == isShown {
				err = errors.Join(err, s.Pool.give(gateway.Name, o))
				s.touched[gateway.Name] = true
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

// Touch says that something else has changed that is read together with the objects.
func (s *Source) Touch() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.noteChange()
	for kind := range s.hooks {
		s.callHooks(kind)
	}
}

func (s *Source) noteChange() {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	wake(s.changed)
}

// noteChangeOf is noteChange for an object of a kind.
func (s *Source) noteChangeOf(kind schema.GroupKind) {
	s.noteChange()
	s.callHooks(kind)
}

func (s *Source) callHooks(kind schema.GroupKind) {
	for _, hook := range s.hooks[kind] {
		hook()
	}
}

// addHook has a function called with each change of objects of some kinds, or of what is read together with them,
// whatever that means for what is served. It must not wait.
func (s *Source) addHook(hook func(), kinds ...schema.GroupKind) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, kind := range kinds {
		s.hooks[kind] = append(s.hooks[kind], hook)
	}
}

// wake puts a value into a channel that has room for one, unless there is one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// A change waits until no other comes for quietFor, and no longer than longestQuiet: a new Pod in several slices is one
// change. What comes later waits for the pass that is under way, and becomes one.
const (
	quietFor     = time.Millisecond
	longestQuiet = 5 * time.Millisecond
)

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
	if s.awaitQuiet(ctx); ctx.Err() != nil {
		return time.Time{}, false
	}
	s.awaitRead(ctx)
	return s.takeChange(), true
}

// awaitQuiet waits for the changes that come with one.
func (s *Source) awaitQuiet(ctx context.Context) {
	for end := time.Now().Add(longestQuiet); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(quietFor):
			return
		case <-s.changed:
		}
	}
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
func (s *Source) Sources() read.List {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.mendList()
	return s.listed
}

// mendList brings the list up to date.
func (s *Source) mendList() {
	var set []compiler.Source
	var gone []string
	for name := range s.touched {
		if o := s.objects[name]; o != nil {
			set = append(set, compiler.Source{Name: name, Data: o.text})
		} else {
			gone = append(gone, name)
		}
	}
	s.listed = s.listed.With(set, gone)
	clear(s.touched)
}

// listKind lists the objects of a kind, in the order of their names.
func (s *Source) listKind(kind schema.GroupKind) (all []*object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.mendList()
	for one := range s.listed.From(kind.Kind + "/") {
		all = append(all, s.objects[one.Name])
	}
	return all
}

// errNotFollowed says that an object is of a kind that is not followed, or is gone.
var errNotFollowed = errors.New("it is gone")

// findObject returns an object as it was seen last, and its resource.
func (s *Source) findObject(
	kind schema.GroupKind,
	namespace, name string,
) (*object, schema.GroupVersionResource, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	o := s.objects[nameSource(kind.Kind, &metav1.ObjectMeta{Namespace: namespace, Name: name})]
	w := s.watches[kind]
	if o == nil || w == nil {
		return nil, schema.GroupVersionResource{}, errNotFollowed
	}
	return o, w.resource, nil
}
