package inputfiles

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// The tests are in a bubble whose clock goes on while all wait, and files have its times.

// patience is how long a test waits for what must come, and silence for what must not.
const (
	patience = time.Minute
	silence  = 10 * time.Second
)

// makeFolder makes files, which count as seen, in a folder that the test works in.
func makeFolder(t *testing.T, files ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range files {
		write(t, f, "first")
	}
	time.Sleep(2 * restTime)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o600))
	must(t, os.Chtimes(name, time.Now(), time.Now()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, w *Watcher, within time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	_, changed := w.Next(ctx, time.Time{})
	return changed
}

// TestChanges makes each kind of change that there is, and some that are none.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T)
		seen   bool
	}{
		{"nothing", func(*testing.T) {}, false},
		{"written in place, as long as before", func(t *testing.T) { write(t, "in/a.yaml", "other") }, true},
		{"renamed into place", func(t *testing.T) {
			write(t, "in/.a.yaml.swp", "second")
			must(t, os.Rename("in/.a.yaml.swp", "in/a.yaml"))
		}, true},
		{"a new file", func(t *testing.T) { write(t, "in/deep/er/b.json", "{}") }, true},
		{"a file gone", func(t *testing.T) { must(t, os.Remove("in/a.yaml")) }, true},
		{"a folder gone", func(t *testing.T) { must(t, os.RemoveAll("in")) }, true},
		{"no manifest", func(t *testing.T) { write(t, "in/notes.txt", "text") }, false},
		{"a file that is not named", func(t *testing.T) { write(t, "beside.yaml", "text") }, false},
		{"the key file", func(t *testing.T) { write(t, "keys.json", "{}") }, true},
		{"what a link leads to", func(t *testing.T) { write(t, "elsewhere.yaml", "text") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				makeFolder(t, "in/a.yaml", "keys.json", "elsewhere.yaml")
				must(t, os.Symlink("../elsewhere.yaml", "in/link.yaml"))
				w := NewWatcher("in", "keys.json")
				c.change(t)
				if got := next(t, w, patience); got != c.seen {
					t.Fatalf("seen: %v, want %v", got, c.seen)
				}
				if c.seen && next(t, w, silence) {
					t.Error("the change is seen twice")
				}
			})
		})
	}
}

// TestConfigMap swaps a mounted ConfigMap as Kubernetes does: one rename of a link, under which all files change.
func TestConfigMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		makeFolder(t, "in/..2026_1/a.yaml", "in/..2026_2/a.yaml")
		write(t, "in/..2026_2/a.yaml", "second")
		must(t, os.Symlink("..2026_1", "in/..data"))
		must(t, os.Symlink("..data/a.yaml", "in/a.yaml"))
		time.Sleep(2 * restTime)
		w := NewWatcher("in")
		if len(w.last.files) != 1 {
			t.Fatalf("watched: %v", w.last.files)
		}
		must(t, os.Symlink("..2026_2", "in/..tmp"))
		must(t, os.Rename("in/..tmp", "in/..data"))
		if !next(t, w, patience) {
			t.Error("the swap is not seen")
		}
	})
}

// TestFolderSwapped has a link lead to another folder, as who deploys release by release does.
func TestFolderSwapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		makeFolder(t, "release-1/a.yaml", "release-2/a.yaml")
		write(t, "release-2/a.yaml", "second")
		must(t, os.Symlink("release-1", "current"))
		time.Sleep(2 * restTime)
		w := NewWatcher("current")
		must(t, os.Symlink("release-2", "next"))
		must(t, os.Rename("next", "current"))
		if !next(t, w, patience) {
			t.Error("the swap is not seen")
		}
	})
}

// TestWaitsForRest: files that are still being written are not reported; the time is that of the first sign.
func TestWaitsForRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		makeFolder(t, "a.yaml")
		w := NewWatcher("a.yaml")
		begin := time.Now()
		var last time.Time
		go func() {
			for i := range 20 {
				last = time.Now()
				write(t, "a.yaml", strconv.Itoa(i))
				time.Sleep(restTime / 3)
			}
		}()
		since, changed := w.Next(t.Context(), time.Time{})
		if now := time.Now(); !changed || since.Sub(begin) > interval || now.Sub(last) < restTime || now.Sub(last) > 3*restTime {
			t.Errorf("changed: %v since %v; begun %v, written last %v, told %v", changed, since, begin, last, now)
		}
	})
}

// TestJustWritten: what was written when the watch began may have been read or not, so it is reported once.
func TestJustWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Chdir(t.TempDir())
		write(t, "a.yaml", "first")
		future := time.Now().Add(time.Hour)
		must(t, os.Chtimes("a.yaml", future, future))
		w := NewWatcher("a.yaml")
		if !next(t, w, patience) || next(t, w, silence) {
			t.Error("a file of the future must be reported once")
		}
	})
}

// TestUntil: a time that comes before any change ends the wait.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		makeFolder(t, "a.yaml")
		w := NewWatcher("a.yaml")
		until := time.Now().Add(interval + interval/2)
		if since, changed := w.Next(t.Context(), until); changed || !since.Equal(until) {
			t.Errorf("changed: %v, at %v, want no change at %v", changed, since, until)
		}
	})
}

// TestPause: looks that are expensive each time are rarer; one that only had to wait for its turn leaves nothing unseen.
func TestPause(t *testing.T) {
	const cheap, slow = time.Millisecond / 2, 200 * time.Millisecond
	for _, c := range []struct {
		name    string
		samples []time.Duration
		pause   time.Duration
	}{
		{"cheap", []time.Duration{cheap, cheap, cheap, cheap}, interval},
		{"one that waited", []time.Duration{cheap, cheap, cheap, slow}, interval},
		{"three that waited", []time.Duration{cheap, slow, slow, slow}, interval},
		{"each expensive", []time.Duration{slow, slow, slow, slow}, part * slow},
		{"the first", []time.Duration{slow}, interval},
	} {
		var w Watcher
		var pause time.Duration
		for _, took := range c.samples {
			pause = w.pauseAfter(took)
		}
		if pause != c.pause {
			t.Errorf("%s: a pause of %v, want %v", c.name, pause, c.pause)
		}
	}
}
