package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/limpet-proxy/limpet/compiler"
	apiobject "github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// StatusWriter writes what became of objects into their statuses. Only one process may run it at a time.
type StatusWriter struct {
	Source *Source
	// Find computes whole statuses, with the entries of other controllers, which current has.
	Find FindStatuses
	Log  *slog.Logger
	// Written, if there is one, is told what became of each write.
	Written func(result string)
	// Metrics, if there are any, are those of the queues.
	Metrics *QueueMetrics
	// Events, if there is one, is told of each status that was written.
	Events *Events

	wake chan struct{}
	// first queues Gateways and GatewayClasses, which say how all the others stand, and rest queues those.
	first, rest workqueue.TypedRateLimitingInterface[statusKey]

	// all says that all statuses are to be computed, and again lists objects to compute once more.
	all   bool
	again []apiobject.Ref
	kinds map[string]schema.GroupKind // of those that have statuses, by name

	lock    sync.Mutex
	desired map[statusKey][]byte // as JSON
	// confirmed are the statuses that were compared with the desired ones, and were equal.
	confirmed map[statusKey]confirmedStatus
	// computations counts the calls of compute. wrote has, for each object, the call during which it was written last, or
	// underWay while it is written.
	computations int
	wrote        map[statusKey]int
}

// FindStatuses computes the desired statuses of objects: of those whose status is another than the last time, and of
// some more, or of all. current gives the statuses that objects have.
type FindStatuses func(current func(apiobject.Ref) json.RawMessage, some []apiobject.Ref,
	all bool) (*compiler.CheckResult, error)

// underWay marks a write that has not ended.
const underWay = math.MaxInt

// confirmedStatus is a desired status, and the current one that agrees with it.
type confirmedStatus struct{ desired, current []byte }

// statusKey is an object that has a status.
type statusKey struct {
	kind            schema.GroupKind
	namespace, name string
}

func (k statusKey) String() string {
	return nameSource(k.kind.Kind, &metav1.ObjectMeta{Namespace: k.namespace, Name: k.name})
}

// The results of a write.
const (
	WriteDone     = "written"
	WriteConflict = "conflict" // the object has changed meanwhile, and will come again
	WriteGone     = "gone"
	WriteFailed   = "failed"
)

// writers is how many objects are written at a time.
const writers = 4

// statusPause is the least time between two calls of compute: changes meanwhile become one write. It is as long as the
// last call at least, so that a tenant with thousands of routes leaves half of a processor to what serves.
const statusPause = 25 * time.Millisecond

// A failed write is tried again after firstRetry, then twice that, at last every lastRetry. All objects together get
// retries a second, after retriesAtOnce at once.
const (
	firstRetry             = 5 * time.Millisecond
	lastRetry              = 15 * time.Second
	retries, retriesAtOnce = 50, 500
)

// NewStatusWriter makes a StatusWriter, which Run starts.
func NewStatusWriter(s *Source, find FindStatuses, log *slog.Logger) *StatusWriter {
	return &StatusWriter{Source: s, Find: find, Log: log, wake: make(chan struct{}, 1)}
}

// Wake says that something has changed that statuses depend on.
func (w *StatusWriter) Wake() { wake(w.wake) }

// Run writes until ctx ends.
func (w *StatusWriter) Run(ctx context.Context) {
	w.first, w.rest = w.newQueue("gateway-statuses"), w.newQueue("statuses")
	w.all, w.kinds = true, map[string]schema.GroupKind{}
	w.desired, w.confirmed, w.wrote = map[statusKey][]byte{}, map[statusKey]confirmedStatus{}, map[statusKey]int{}
	var group sync.WaitGroup
	group.Go(func() {
		for w.writeNext(ctx, w.first) {
		}
	})
	for range writers {
		group.Go(func() {
			for w.writeNext(ctx, w.rest) {
			}
		})
	}
	for ctx.Err() == nil {
		begun := time.Now()
		w.compute()
		took := time.Since(begun)
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-w.Source.written:
		}
		pause(ctx, max(statusPause, took))
	}
	w.first.ShutDown()
	w.rest.ShutDown()
	group.Wait()
}

func (w *StatusWriter) newQueue(name string) workqueue.TypedRateLimitingInterface[statusKey] {
	config := workqueue.TypedRateLimitingQueueConfig[statusKey]{Name: name}
	if w.Metrics != nil {
		config.MetricsProvider = w.Metrics
	}
	return workqueue.NewTypedRateLimitingQueueWithConfig(newStatusLimiter(), config)
}

// newStatusLimiter says when a failed write is tried again. After an hour without the API server client-go's own
// limiter would wait for up to a quarter of an hour.
func newStatusLimiter() workqueue.TypedRateLimiter[statusKey] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[statusKey](firstRetry, lastRetry),
		&workqueue.TypedBucketRateLimiter[statusKey]{Limiter: rate.NewLimiter(retries, retriesAtOnce)},
	)
}

// compute computes the desired statuses, and queues the objects that have another one.
func (w *StatusWriter) compute() {
	w.lock.Lock()
	w.computations++
	w.lock.Unlock()
	checked, err := w.Find(w.Source.statusOf, append(w.again, w.Source.takeRestated()...), w.all)
	if w.all, w.again = err != nil, nil; err != nil {
		w.Log.Error("statuses can't be found out; they stay as they are", "reason", err)
		return
	}
	w.setDesired(checked)
	for _, o := range checked.Objects {
		key := keyOf(o)
		if c, err := w.compare(key); err == nil && c.patch != nil {
			w.queueOf(key).Add(key)
		}
	}
}

// setDesired stores the desired statuses. Where an object was written during compute, its status was computed from the
// old one, and would have other times for the same conditions: the next call decides.
func (w *StatusWriter) setDesired(checked *compiler.CheckResult) {
	w.lock.Lock()
	defer w.lock.Unlock()
	before := w.desired
	if checked.All {
		w.desired, w.confirmed = make(map[statusKey][]byte, len(checked.Objects)), map[statusKey]confirmedStatus{}
	}
	for _, ref := range checked.Without {
		key := statusKey{w.kinds[ref.Kind], ref.Namespace, ref.Name}
		delete(w.desired, key)
		delete(w.confirmed, key)
	}
	for _, o := range checked.Objects {
		key := keyOf(o)
		text, err := json.Marshal(o.Status)
		if err != nil {
			w.Log.Error("a status can't be written", "object", key.String(), "reason", err)
			continue
		}
		w.kinds[o.Kind] = key.kind
		was, written := before[key], w.wrote[key] >= w.computations
		if written {
			w.again = append(w.again, o.Ref())
			wake(w.wake)
		}
		if written && was != nil || bytes.Equal(was, text) {
			text = was // so that it is held once
		}
		w.desired[key] = text
	}
	maps.DeleteFunc(w.wrote, func(_ statusKey, during int) bool { return during < w.computations })
}

// queueOf is the queue that an object is in.
func (w *StatusWriter) queueOf(key statusKey) workqueue.TypedRateLimitingInterface[statusKey] {
	if key.kind == gatewayKind || key.kind.Kind == "GatewayClass" {
		return w.first
	}
	return w.rest
}

func keyOf(o status.Object) statusKey {
	return statusKey{schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind(), o.Metadata.Namespace, o.Metadata.Name}
}

// writeNext writes one object's status; false at the end.
func (w *StatusWriter) writeNext(ctx context.Context, queue workqueue.TypedRateLimitingInterface[statusKey]) bool {
	key, end := queue.Get()
	if end {
		return false
	}
	defer queue.Done(key)
	result, err := w.write(ctx, key)
	switch {
	case result == "" || ctx.Err() != nil:
		queue.Forget(key)
		return true
	case result == WriteFailed:
		w.Log.Warn("a status can't be written, and is tried again", "object", key.String(), "reason", err)
		queue.AddRateLimited(key)
	case result == WriteConflict: // with what is on its way here
		queue.AddRateLimited(key)
	default:
		queue.Forget(key)
	}
	if w.Written != nil {
		w.Written(result)
	}
	return true
}

// write writes an object's desired status. The result is empty if the object has it already.
func (w *StatusWriter) write(ctx context.Context, key statusKey) (result string, err error) {
	c, err := w.compare(key)
	if err != nil || c.patch == nil {
		return "", err
	}
	w.noteWrite(key, true)
	defer w.noteWrite(key, false)
	w.Source.expectStatus(key.String())
	written, err := w.Source.client.Resource(c.resource).Namespace(key.namespace).
		Patch(ctx, key.name, types.MergePatchType, c.patch, metav1.PatchOptions{FieldManager: "limpet"}, "status")
	w.Source.noteStatus(key.String(), c.of, written)
	switch {
	case err == nil:
		w.tell(written, c.of)
		return WriteDone, nil
	case apierrors.IsConflict(err):
		return WriteConflict, nil
	case apierrors.IsNotFound(err):
		return WriteGone, nil
	default:
		return WriteFailed, err
	}
}

// noteWrite notes that an object is being written, or was.
func (w *StatusWriter) noteWrite(key statusKey, begins bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.wrote[key] = w.computations
	if begins {
		w.wrote[key] = underWay
	}
}
