package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
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
	maps configMaps
	wake chan struct{}
	// urgent has a value while somebody waits until wanted is written.
	urgent   chan struct{}
	reported string // the last failure that was told of

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
	maps, err := newConfigMaps(config, namespace)
	if err != nil {
		return nil, err
	}
	return newMemory(ctx, maps, name, log), nil
}

func newMemory(ctx context.Context, in configMaps, name string, log *slog.Logger) *Memory {
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

// tell tells of a failure, once.
func (m *Memory) tell(what string, err error) {
	if m.reported != err.Error() {
		m.reported = err.Error()
		m.Log.Warn(what, "memory", m.Name, "reason", err)
	}
}

func shardOf(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % shards)
}
