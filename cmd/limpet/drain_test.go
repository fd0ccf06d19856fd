package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestDrain holds that an Envoy is told to leave, and may end when its clients have gone: not before a while, and not without end.
func TestDrain(t *testing.T) {
	var drains, open, counts atomic.Int64
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthcheck/fail" && r.Method == http.MethodPost:
			drains.Add(1)
		case r.URL.Path == "/stats":
			if counts.Add(-1) == 0 {
				open.Store(0)
			}
			fmt.Fprintf(w, "listener.0.0.0.0_80.downstream_cx_active: %d\nlistener.0.0.0.0_80.worker_0.downstream_cx_active: 7\n"+
				"listener.0.0.0.0_19001.downstream_cx_active: 1\nlistener.admin.downstream_cx_active: 1\n", open.Load())
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer admin.Close()
	drain := func(flags ...string) (time.Duration, string, error) {
		var stderr bytes.Buffer
		c := newDrain()
		c.SetErr(&stderr)
		c.SetArgs(append([]string{"--admin", strings.TrimPrefix(admin.URL, "http://")}, flags...))
		begun := time.Now()
		err := c.Execute()
		return time.Since(begun), stderr.String(), err
	}
	if took, printed, err := drain("--at-least", "300ms", "--timeout", "2m"); err != nil || took < 300*time.Millisecond || drains.Load() != 1 || printed != "" {
		t.Errorf("no client is there: %v, %v, told %d times, %q", took, err, drains.Load(), printed)
	}
	open.Store(2)
	counts.Store(3)
	if took, printed, err := drain("--at-least", "0s", "--timeout", "2m"); err != nil || counts.Load() > 0 || took > time.Minute || printed != "" {
		t.Errorf("clients go: %v, %v, %q, %d looks are left", took, err, printed, counts.Load())
	}
	open.Store(2)
	if took, printed, err := drain("--at-least", "0s", "--timeout", "300ms"); err != nil || took < 300*time.Millisecond || !strings.Contains(printed, "2 connections are still open") {
		t.Errorf("clients stay: %v, %v, %q", took, err, printed)
	}
	if _, _, err := drain("--at-least", "2s", "--timeout", "1s"); err == nil {
		t.Error("--at-least may be more than --timeout")
	}
	admin.Close()
	if _, _, err := drain("--at-least", "0s"); err == nil {
		t.Error("an Envoy that is away is said to have drained")
	}
}

// TestDrainInstall holds that limpet can put itself where another container finds it.
func TestDrainInstall(t *testing.T) {
	to := filepath.Join(t.TempDir(), "limpet")
	c := newDrain()
	c.SetArgs([]string{"--install", to})
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, b := mustStat(t, own), mustStat(t, to)
	if a.Size() != b.Size() || b.Mode().Perm() != 0o755 {
		t.Errorf("%d bytes of %d, mode %v", b.Size(), a.Size(), b.Mode())
	}
}

func mustStat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
