package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/proxies"
)

// Memory remembers entries in ConfigMaps of limpet's namespace, for this process after a restart and for those that
// take its place. All processes write what they see, which is the same, so that one of them finds most of it written.
// It is a memory.Store.
type Memory struct {
	// Name tells it from others.
	Name string
	// IsSame tells whether an entry is remembered already as what is to be remembered of the same key.
	IsSame func(stored, own json.RawMessage) bool
	Log    *slog.Logger
	// Written, if there is one, is told what became of each write.
	Written func(result string)

	ctx  context.Context // of this process
	maps typedcorev1.ConfigMapInterface
	wake chan struct{}
	// urgent has a value while somebody waits until wanted is written.
	urgent chan struct{}
	said   string // the last failure that was told of

	lock    sync.Mutex // of what follows
	wanted  map[string]json.RawMessage
	waiting []func()
	writing chan struct{}              // has a value while objects are read or written, and of stored
	stored  map[string]json.RawMessage // as far as this process has read or written them
}

// memoryLabel is on its objects, which are no input.
const memoryLabel = "limpet.dev/memory"

// memoryText is where an object has its entries.
const memoryText = "memory.json"

// shards is over how many objects entries are spread: of 100,000 addresses with long names each has half of what an
// object may have.
const shards = 64

// Entries are written writeAfter to twice that after they have changed, so that many are one write and another process
// may have been there. What is urgent is waited for that long.
const (
	writeAfter  = 5 * time.Second
	urgentAfter = 2 * time.Second
)

// NewMemory makes a Memory that has read nothing. Once ctx has ended it no longer waits for the API server.
func NewMemory(ctx context.Context, config *rest.Config, namespace, name string, log *slog.Logger) (*Memory, error) {
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return newMemory(ctx, client.ConfigMaps(namespace), name, log), nil
}

func newMemory(ctx context.Context, in typedcorev1.ConfigMapInterface, name string, log *slog.Logger) *Memory {
	return &Memory{
		ctx: ctx, Name: name, Log: log, maps: in, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
		writing: make(chan struct{}, 1),
		stored:  map[string]json.RawMessage{}, // for whoever may not list, but write
	}
}

// Whole is false: objects are written for what other objects do not say any more.
func (m *Memory) Whole() bool { return false }

// readAgain is how long to wait after a read that has failed.
const readAgain = time.Second

// Read reads all entries. It waits for an API server that is away until ctx ends, for starting without the entries
// would forget them.
func (m *Memory) Read() (map[string]json.RawMessage, error) {
	for {
		list, err := m.maps.List(m.ctx, metav1.ListOptions{LabelSelector: memoryLabel + "=" + m.Name})
		if m.ctx.Err() != nil {
			return nil, m.ctx.Err()
		}
		if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
			m.tell("what is remembered can't be read", err)
			pause(m.ctx, readAgain)
			continue
		}
		if err != nil {
			return nil, err
		}
		m.writing <- struct{}{}
		defer func() { <-m.writing }()
		m.stored = map[string]json.RawMessage{}
		for i := range list.Items {
			entries, failed := readEntries(&list.Items[i])
			err = errors.Join(err, failed)
			maps.Copy(m.stored, entries)
		}
		return maps.Clone(m.stored), err
	}
}

// readEntries reads the entries of one object.
func readEntries(o *corev1.ConfigMap) (map[string]json.RawMessage, error) {
	entries := map[string]json.RawMessage{}
	text := o.Data[memoryText]
	if text == "" {
		return entries, nil
	}
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: data[%s]: %w", o.Namespace, o.Name, memoryText, err)
	}
	return entries, nil
}

// Write stores entries soon. Where somebody waits it writes as soon as the API server takes them, with many requests at
// once: a change of thousands of addresses writes each object, and entries that come meanwhile are the next write. A
// failure is logged, and holds up nothing for long.
func (m *Memory) Write(entries map[string]json.RawMessage, kept func()) error {
	m.lock.Lock()
	m.wanted = entries
	if kept != nil {
		kept = sync.OnceFunc(kept)
		m.waiting = append(m.waiting, kept)
		time.AfterFunc(urgentAfter, kept)
	}
	m.lock.Unlock()
	if kept != nil {
		wake(m.urgent)
	}
	wake(m.wake)
	return nil
}

// Run writes until ctx ends, and what is left then.
func (m *Memory) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-m.urgent:
			m.flushUrgent(ctx)
			continue
		case <-m.wake:
		}
		select {
		case <-ctx.Done():
		case <-m.urgent:
			m.flushUrgent(ctx)
			wake(m.wake)
			continue
		case <-time.After(writeAfter + rand.N(writeAfter)): //nolint:gosec // no secret: replicas shall not write at once
		}
		if ctx.Err() == nil && !m.flush(ctx) {
			wake(m.wake)
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), urgentAfter)
	defer stop()
	m.flush(last)
}

// flushUrgent writes wanted, and tells those who wait for it. Then it leaves the API server alone for as long as that
// took.
func (m *Memory) flushUrgent(ctx context.Context) {
	begun := time.Now()
	m.lock.Lock()
	waiting := m.waiting
	m.waiting = nil
	m.lock.Unlock()
	within, stop := context.WithTimeout(ctx, urgentAfter)
	defer stop()
	m.flush(within)
	for _, kept := range waiting {
		kept()
	}
	pause(ctx, time.Since(begun))
}

// flush writes the objects whose entries have changed; false if one could not be written, or ctx ends before another
// flush does.
func (m *Memory) flush(ctx context.Context) (done bool) {
	select {
	case m.writing <- struct{}{}:
		defer func() { <-m.writing }()
	case <-ctx.Done():
		return false
	}
	m.lock.Lock()
	wanted := m.wanted
	m.lock.Unlock()
	if wanted == nil {
		return true
	}
	done = true
	changed := map[int][]string{}
	for key, text := range wanted {
		if string(m.stored[key]) != string(text) {
			changed[shardOf(key)] = append(changed[shardOf(key)], key)
		}
	}
	for key := range m.stored {
		if wanted[key] == nil {
			changed[shardOf(key)] = append(changed[shardOf(key)], key)
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(changed)) {
		if err := m.writeShard(ctx, shard, changed[shard], wanted); err != nil {
			m.tell("what is remembered of addresses and hosts can't be written, and is tried again", err)
			done = false
			continue
		}
		m.said = ""
	}
	return done
}

// tell tells of a failure, once.
func (m *Memory) tell(what string, err error) {
	if m.said != err.Error() {
		m.said = err.Error()
		m.Log.Warn(what, "memory", m.Name, "reason", err)
	}
}

func shardOf(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % shards)
}

// writeShard brings an object up to date with some keys, unless it is. What others have written of other keys stays.
func (m *Memory) writeShard(ctx context.Context, shard int, keys []string, wanted map[string]json.RawMessage) error {
	name := fmt.Sprintf("limpet-memory-%s-%02d", m.Name, shard)
	for {
		o, err := m.maps.Get(ctx, name, metav1.GetOptions{})
		isNew := apierrors.IsNotFound(err)
		if err != nil && !isNew {
			return err
		}
		if isNew {
			o = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{memoryLabel: m.Name, proxies.LabelManagedBy: madeByLimpet},
			}}
		}
		changed, err := m.edit(o, keys, wanted)
		switch {
		case err != nil:
			return err
		case !changed:
		case isNew:
			_, err = m.maps.Create(ctx, o, metav1.CreateOptions{FieldManager: "limpet"})
		default:
			_, err = m.maps.Update(ctx, o, metav1.UpdateOptions{FieldManager: "limpet"})
		}
		m.count(changed, err)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue // another process was there
		}
		if err != nil {
			return err
		}
		for _, key := range keys {
			if m.stored[key] = wanted[key]; wanted[key] == nil {
				delete(m.stored, key)
			}
		}
		return nil
	}
}

// edit brings the entries of an object up to date. One that another process has written since stays.
func (m *Memory) edit(o *corev1.ConfigMap, keys []string, wanted map[string]json.RawMessage) (changed bool, err error) {
	entries, err := readEntries(o)
	if err != nil {
		m.Log.Warn("what is remembered is no good, and begins anew", "memory", m.Name, "reason", err)
		entries, changed = map[string]json.RawMessage{}, true
	}
	for _, key := range keys {
		is, own := entries[key], wanted[key]
		switch {
		case own == nil && is != nil && m.isSame(is, m.stored[key]):
			delete(entries, key)
			changed = true
		case own != nil && (is == nil || !m.isSame(is, own)):
			entries[key], changed = own, true
		}
	}
	text, err := json.Marshal(entries)
	o.Data = map[string]string{memoryText: string(text)}
	return changed, err
}

func (m *Memory) isSame(stored, own json.RawMessage) bool {
	return string(stored) == string(own) || own != nil && m.IsSame != nil && m.IsSame(stored, own)
}

func (m *Memory) count(changed bool, err error) {
	switch {
	case !changed || m.Written == nil:
	case err == nil:
		m.Written(WriteDone)
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		m.Written(WriteConflict)
	default:
		m.Written(WriteFailed)
	}
}
