package inputfiles

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Watcher tells when files or folders of manifests change, as Read reads them. It polls instead of asking the kernel
// for events: polling sees an editor's rename, the swapped symbolic link of a mounted ConfigMap and a folder on a
// network alike, and no lost event leaves it blind.
type Watcher struct {
	paths []string
	last  snapshot
	// took is how long the latest looks took, the last one first.
	took [samples]time.Duration
}

// NewWatcher watches paths. What they hold now counts as seen, if it was not written just now.
func NewWatcher(paths ...string) *Watcher {
	w := &Watcher{paths: paths}
	if now := w.takeSnapshot(); time.Since(now.newest) > restTime {
		w.last = now
	}
	return w
}

// Watching costs a look every interval, but no more than 1/part of a processor's time.
const (
	interval = 50 * time.Millisecond
	part     = 50
)

// samples is how many looks are kept; the shortest says what a look costs. A long one may only have waited on a busy
// machine, and a pause in proportion to it would leave limpet blind for seconds.
const samples = 4

// restTime is how long files must have been left alone before they count as written: a program that saves several files
// is not caught in between, nor are two writes of one size in the same tick of a file system's clock taken for one.
const restTime = 30 * time.Millisecond

// Next waits for a change to what was seen last, and until the files have been left alone for a moment. It gives the
// time at which it saw the first sign of the change; false when ctx ends or a time that is not zero has come.
func (w *Watcher) Next(ctx context.Context, until time.Time) (since time.Time, changed bool) {
	var quiet time.Time
	for {
		begin := time.Now()
		now := w.takeSnapshot()
		switch {
		case !now.equal(w.last):
			w.last, quiet = now, begin
			if since.IsZero() {
				since = begin
			}
		case !since.IsZero() && begin.Sub(quiet) > restTime:
			return since, true
		case since.IsZero() && !until.IsZero() && !begin.Before(until):
			return begin, false
		}
		pause := w.pauseAfter(time.Since(begin))
		if !since.IsZero() {
			pause = restTime
		}
		if !until.IsZero() {
			pause = min(pause, max(time.Until(until), time.Millisecond))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return since, false
		}
	}
}

// pauseAfter returns how long to wait after a look.
func (w *Watcher) pauseAfter(took time.Duration) time.Duration {
	copy(w.took[1:], w.took[:])
	w.took[0] = took
	return max(interval, part*slices.Min(w.took[:]))
}

// snapshot is what the file system says of all files.
type snapshot struct {
	files  map[string]fileStamp
	newest time.Time
}

// fileStamp is what it says of one. A file that can't be looked at has none, and its change is that it comes or goes.
type fileStamp struct {
	size     int64
	modified time.Time
}

func (s snapshot) equal(other snapshot) bool {
	if len(s.files) != len(other.files) {
		return false
	}
	for name, stamp := range s.files {
		if was, known := other.files[name]; !known || was.size != stamp.size || !was.modified.Equal(stamp.modified) {
			return false
		}
	}
	return true
}

func (w *Watcher) takeSnapshot() snapshot {
	s := snapshot{files: map[string]fileStamp{}}
	for _, path := range expand(w.paths) { // a pattern may match more than before
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			// What can't be read is left out: the next look will see it come.
			_ = walk(path, func(name string, info fs.FileInfo, err error) error {
				if err == nil {
					s.note(name, info)
				}
				return nil
			})
		default:
			s.note(path, info)
		}
	}
	return s
}

func (s *snapshot) note(name string, info fs.FileInfo) {
	s.files[name] = fileStamp{size: info.Size(), modified: info.ModTime()}
	if info.ModTime().After(s.newest) {
		s.newest = info.ModTime()
	}
}
