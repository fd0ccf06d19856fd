package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/proxies"
)

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
		m.reported = ""
	}
	return done
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
		m.Log.Warn("what is remembered is invalid, and starts empty", "memory", m.Name, "reason", err)
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
