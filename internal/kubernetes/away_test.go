package kubernetes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestAwayIsReported: objects that can't be followed are told of after a while, since when that began, and no longer than it lasts.
func TestAwayIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, of := NewSource(nil, nil), func(name string) schema.GroupVersionResource {
			return schema.GroupVersionResource{Group: "g", Version: "v1", Resource: name}
		}
		begun := time.Now()
		s.noteAway(t.Context(), of("b"), errors.New("refused"))
		time.Sleep(awayGrace - time.Second)
		for _, name := range []string{"a", "b", "c", "d"} {
			s.noteAway(t.Context(), of(name), errors.New(name+" is refused"))
		}
		if f := s.Fault(); f.Words != "" {
			t.Errorf("before the grace is over it says %q", f.Words)
		}
		time.Sleep(time.Second)
		if f := s.Fault(); !strings.Contains(f.Words, "follow b.g, which may be others by now: b is refused") || !f.Since.Equal(begun) {
			t.Errorf("after the grace it says %q since %v", f.Words, f.Since.Sub(begun))
		}
		time.Sleep(awayGrace)
		if f := s.Fault(); !strings.Contains(f.Words, "a.g, b.g, c.g and 1 more") || !f.Since.Equal(begun) {
			t.Errorf("of four resources it says %q since %v", f.Words, f.Since.Sub(begun))
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			s.noteAway(t.Context(), of(name), nil)
		}
		if f := s.Fault(); f.Words != "" {
			t.Errorf("once all are followed it says %q", f.Words)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		s.noteAway(ended, of("e"), errors.New("it is gone"))
		time.Sleep(awayGrace)
		if f := s.Fault(); f.Words != "" {
			t.Errorf("of what is not followed any more it says %q", f.Words)
		}
	})
}
