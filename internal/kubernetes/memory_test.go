package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// slowMaps are ConfigMaps of an API server that takes long for each answer.
type slowMaps struct {
	typedcorev1.ConfigMapInterface
	takes atomic.Int64
}

func (s *slowMaps) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.ConfigMap, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(s.takes.Load())):
		return s.ConfigMapInterface.Get(ctx, name, o)
	}
}

// absentMaps are ConfigMaps of an API server that is away.
type absentMaps struct{ typedcorev1.ConfigMapInterface }

func (absentMaps) List(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
	return nil, errors.New("connection refused")
}

// TestMemoryOfAbsentServer: who waits for an API server to read what is remembered can be ended.
func TestMemoryOfAbsentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ends = time.Minute
		ctx, stop := context.WithTimeout(t.Context(), ends)
		defer stop()
		begun := time.Now()
		_, err := newMemory(ctx, absentMaps{}, "owners", slog.New(slog.DiscardHandler)).Read()
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != ends {
			t.Errorf("it waits for %v: %v", took, err)
		}
	})
}

// TestMemoryOfSlowServer: what is urgent waits no longer than it may for an API server, also while it takes a minute for what is not
// urgent, and is written when that has come to its end.
func TestMemoryOfSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowMaps{ConfigMapInterface: fake.NewClientset().CoreV1().ConfigMaps("limpet-system")}
		slow.takes.Store(int64(time.Minute))
		m := newMemory(t.Context(), slow, "owners", slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		go m.Run(ctx)
		if err := m.Write(map[string]json.RawMessage{"a": json.RawMessage(`"1"`)}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * writeAfter)
		begun := time.Now()
		kept := make(chan struct{})
		if err := m.Write(map[string]json.RawMessage{"a": json.RawMessage(`"1"`), "b": json.RawMessage(`"2"`)}, func() { close(kept) }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("a change waits for %v", took)
		}
		if <-kept; time.Since(begun) > urgentAfter {
			t.Errorf("who waits for it is told after %v", time.Since(begun))
		}
		slow.takes.Store(0)
		time.Sleep(2 * time.Minute)
		if read, err := m.Read(); err != nil || string(read["a"]) != `"1"` || string(read["b"]) != `"2"` {
			t.Errorf("%s is remembered: %v", read, err)
		}
		stop()
		synctest.Wait()
	})
}
