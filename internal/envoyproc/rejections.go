package envoyproc

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"time"
)

// Rejections passes Envoy's log on and remembers the last reason in it for which Envoy rejected a file: its admin
// interface counts rejections and does not give reasons.
type Rejections struct {
	log io.Writer

	mu     sync.Mutex
	line   []byte // the beginning of one that is not whole
	reason string
	at     time.Time
}

// NewRejections passes Envoy's log on to another writer.
func NewRejections(log io.Writer) *Rejections { return &Rejections{log: log} }

// These come before the reason in Envoy's log, and logTime is how long one may take to get from Envoy here.
const (
	rejectedWords   = "Filesystem config update rejected: "
	unreadableWords = "Filesystem config update failure: "
	logTime         = time.Second
)

// Write passes bytes on.
func (r *Rejections) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.line = append(r.line, p...)
	for {
		line, rest, whole := bytes.Cut(r.line, []byte("\n"))
		if !whole {
			break
		}
		for _, words := range []string{rejectedWords, unreadableWords} {
			if _, reason, found := strings.Cut(string(line), words); found {
				r.reason, r.at = strings.TrimSpace(reason), time.Now()
			}
		}
		r.line = rest
	}
	if len(r.line) > maxLogLine {
		r.line = nil
	}
	r.mu.Unlock()
	return r.log.Write(p)
}

// maxLogLine is how much of a line is kept in bytes.
const maxLogLine = 1 << 20

// Since gives the last reason that came after a time; it waits a little for one.
func (r *Rejections) Since(begin time.Time) string {
	for range 20 {
		r.mu.Lock()
		reason, at := r.reason, r.at
		r.mu.Unlock()
		if at.After(begin) {
			return reason
		}
		time.Sleep(logTime / 20)
	}
	return ""
}
